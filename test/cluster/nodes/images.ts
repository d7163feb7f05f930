// Which images does a cluster without a registry start with, and how is one made around a program? From static programs, or from
// a program and the shared libraries it names.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goTool } from '../../support/go-tool.ts';
import { run } from '../run.ts';
import { type ImageFile, writeOciArchive } from './oci-archive.ts';

export const pauseImage = 'penstock.test/pause:1';
export const dnsImage = 'penstock.test/coredns:1.15.0';
export const metricsImage = 'penstock.test/metrics-server:0.9.0';

/** Static: it is also the first process of a node. @throws with what the compiler said. */
export async function buildPause(folder: string): Promise<string> {
  const program = join(folder, 'pause');
  const source = fileURLToPath(new URL('pause.c', import.meta.url));
  const { code, stderr } = await run('gcc', ['-static', '-O1', '-s', '-o', program, source]);
  if (code !== 0) throw new Error(`gcc cannot build the pause program: ${stderr}`);
  return program;
}

export function packPause(program: string, target: string): Promise<string> {
  return writeOciArchive(target, {
    name: pauseImage,
    files: [{ path: '/pause', content: { file: program }, mode: 0o755 }],
    entrypoint: ['/pause'],
    user: '65535:65535',
  });
}

export async function packDns(target: string): Promise<string> {
  const program = await goTool({ package: 'github.com/coredns/coredns', version: 'v1.15.0' });
  return writeOciArchive(target, {
    name: dnsImage,
    files: [{ path: '/coredns', content: { file: program }, mode: 0o755 }],
    entrypoint: ['/coredns'],
  });
}

export async function packMetricsServer(target: string): Promise<string> {
  const program = await goTool({
    package: 'sigs.k8s.io/metrics-server/cmd/metrics-server',
    version: 'v0.9.0',
  });
  return writeOciArchive(target, {
    name: metricsImage,
    files: [{ path: '/metrics-server', content: { file: program }, mode: 0o755 }],
    entrypoint: ['/metrics-server'],
    user: '65534:65534',
  });
}

/** The program of the `node` package at /usr/local/bin/node, and the libraries it is linked with. */
export async function nodeFiles(): Promise<ImageFile[]> {
  const manifest = createRequire(import.meta.url).resolve('node/package.json');
  const program = join(dirname(manifest), 'bin', 'node');
  const libraries = await sharedLibraries(program);
  return [
    { path: '/usr/local/bin/node', content: { file: program }, mode: 0o755 },
    ...libraries.map((path) => ({ path, content: { file: path }, mode: 0o755 })),
  ];
}

/** Paths where the loader of this machine finds them, and the loader itself. */
async function sharedLibraries(program: string): Promise<string[]> {
  const { code, stdout, stderr } = await run('ldd', [program]);
  if (code !== 0) throw new Error(`ldd cannot read ${program}: ${stderr}`);
  const paths = stdout.split('\n').map((line) => /(\/\S+) \(0x[0-9a-f]+\)$/.exec(line)?.[1]);
  return paths.filter((path) => path !== undefined);
}
