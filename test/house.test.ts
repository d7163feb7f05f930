// Do the house papers agree with the house? package.json, its lockfile, the licence, and the pages that speak of them.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const packageJson = z
  .object({
    license: z.string(),
    scripts: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(JSON.parse(read('package.json')));

const lockfile = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        hasInstallScript: z.boolean().optional(),
        integrity: z.string().optional(),
        optional: z.boolean().optional(),
      }),
    ),
  })
  .parse(JSON.parse(read('package-lock.json')));

describe('dependencies', () => {
  const groups = ['dependencies', 'devDependencies'] as const;

  test.each(groups)('every entry of %s is pinned to one version', (group) => {
    const loose = Object.entries(packageJson[group]).filter(
      // A second version of a package stands there under a name of its own.
      ([, version]) => !/^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+$/.test(version),
    );
    expect(loose).toEqual([]);
  });

  test.each([
    ['dependencies', '## In the product'],
    ['devDependencies', '## For development'],
  ] as const)('docs/decisions/dependencies.md lists %s, with version and reason', (group, heading) => {
    const section = read('docs/decisions/dependencies.md').split(`${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    const rows = [...section.matchAll(/^\| `([^`]+)` \| (\S+) \| (.{20,}) \|$/gm)];
    expect(Object.fromEntries(rows.map(([, name, version]) => [name, version]))).toEqual(packageJson[group]);
    expect(rows).toHaveLength(Object.keys(packageJson[group]).length);
  });

  test('every package that wants to run an install script has its answer in allowScripts, and no other has', () => {
    const wanting = Object.entries(lockfile.packages)
      // An optional package for another system is never installed here; what it wants is asked where it is.
      .filter(([, { hasInstallScript, optional }]) => hasInstallScript === true && optional !== true)
      .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length));
    expect(Object.keys(packageJson.allowScripts).sort()).toEqual([...new Set(wanting)].sort());
  });

  test('only the package node may run its install script', () => {
    const allowed = Object.entries(packageJson.allowScripts).filter(([, isAllowed]) => isAllowed);
    expect(allowed.map(([name]) => name)).toEqual(['node']);
  });

  test('every package of the lockfile carries its integrity', () => {
    const bare = Object.entries(lockfile.packages).filter(
      ([path, { integrity }]) => path !== '' && !integrity,
    );
    expect(bare.map(([path]) => path)).toEqual([]);
  });
});

describe('papers', () => {
  test('LICENSE is the unmodified Apache License 2.0 with our name', () => {
    const text = read('LICENSE');
    const ours = '2026 The Penstock Authors';
    expect(text).toContain(`Copyright ${ours}`);
    expect(packageJson.license).toBe('Apache-2.0');
    // The digest of the licence's text as its authors publish it.
    const published = text.replace(ours, '[yyyy] [name of copyright owner]');
    expect(createHash('sha256').update(published).digest('hex')).toBe(
      'cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30',
    );
  });

  test.each(['README.md', 'CONTRIBUTING.md'])('every npm command in %s is a script', (path) => {
    const named = [...read(path).matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].map(([, name = '']) => name);
    const known = new Set([...Object.keys(packageJson.scripts), 'ci', 'install']);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('CONTRIBUTING.md explains every script', () => {
    const text = read('CONTRIBUTING.md');
    const missing = Object.keys(packageJson.scripts).filter(
      (name) => !text.includes(`| \`npm ${name}\` |`) && !text.includes(`| \`npm run ${name}\` |`),
    );
    expect(missing).toEqual([]);
  });

  test.each(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...decisionPages()])(
    'every link of %s to another file leads somewhere',
    (path) => {
      const links = [...read(path).matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, link = '']) => link);
      expect(links.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
    },
  );
});

describe('decisions', () => {
  const numbered = decisionPages().filter((path) => /\/\d{4}-[a-z0-9-]+\.md$/.test(path));

  test('they are numbered without gaps, and the index has each under its own title', () => {
    const index = [...read('docs/decisions/README.md').matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$/gm)];
    const pages = numbered.map((path, at) => {
      const number = String(at + 1).padStart(4, '0');
      return [
        number,
        path.replace('docs/decisions/', ''),
        read(path).split('\n')[0]?.replace(`# ${number}: `, ''),
      ];
    });
    expect(index.map(([, number, link, title]) => [number, link, title])).toEqual(pages);
    expect(numbered.length).toBeGreaterThan(8);
  });

  test.each(numbered)('%s says context, choice and what we gave up', (path) => {
    expect([...read(path).matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual([
      'Context',
      'Choice',
      'What we gave up',
    ]);
  });
});

function decisionPages(): string[] {
  return readdirSync(join(root, 'docs/decisions'))
    .sort()
    .map((name) => `docs/decisions/${name}`);
}
