// Which test files are in the unit tier? All that load, by any way round, no module that can open a socket or start a program, and
// neither fast-check, whose runs take long, nor recheck, whose checks do. So a new test file is in its tier by what it imports.

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importsOf } from '../support/imports-of.ts';

const testFolder = fileURLToPath(new URL('../', import.meta.url));

const outside = new Set([
  ...['node:child_process', 'node:cluster', 'node:dgram', 'node:dns', 'node:dns/promises'],
  ...['node:http', 'node:http2', 'node:https', 'node:net', 'node:tls', 'node:worker_threads'],
  ...[
    'fastify',
    'undici',
    'iovalkey',
    'pg',
    '@kubernetes/client-node',
    'playwright-core',
    'testcontainers',
    'vite',
  ],
  ...['openai', '@anthropic-ai/sdk', 'fast-check', 'recheck'],
]);
/** Of these modules the names that reach nothing. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  'node:http': ['METHODS', 'STATUS_CODES', 'validateHeaderName', 'validateHeaderValue'],
  'node:net': ['BlockList', 'isIP', 'isIPv4', 'isIPv6', 'SocketAddress'],
  'node:tls': ['checkServerIdentity', 'rootCertificates'],
};

/** The modules from the file to the one that puts it out of the unit tier; undefined: it is in. */
export function wayOutside(file: string, imports = importsOf): string[] | undefined {
  const seen = new Set<string>();
  function search(from: string, way: readonly string[]): string[] | undefined {
    if (seen.has(from)) return undefined;
    seen.add(from);
    for (const { module, names } of imports(from)) {
      const isHarmless = names?.every((name) => harmless[module]?.includes(name)) ?? false;
      if (outside.has(module) && !isHarmless) return [...way, module];
      const found = module.startsWith('/') ? search(module, [...way, module]) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return search(file, [file]);
}

/** From the root of the project. */
export function listUnitFiles(): string[] {
  return readdirSync(testFolder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && wayOutside(`${testFolder}${path}`) === undefined)
    .map((path) => `test/${path}`);
}
