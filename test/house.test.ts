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
    version: z.string(),
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
        dev: z.boolean().optional(),
        hasInstallScript: z.boolean().optional(),
        integrity: z.string().optional(),
        license: z.string().optional(),
        link: z.boolean().optional(),
        resolved: z.string().optional(),
      }),
    ),
  })
  .parse(JSON.parse(read('package-lock.json')));

/** Ask no more than that their text goes along; THIRD-PARTY-NOTICES carries it for what is in the bundles. */
const permissive = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
];
const isPermissive = (id: string) => permissive.includes(id.replaceAll(/[()]/g, ''));
const packageName = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** All others of the lockfile: the licence each states, whether it may be in what we ship, and why. */
const licenceExceptions = [
  {
    packages: /^argparse$/,
    licence: 'PSF-2.0',
    mayShip: true,
    why: "Python's own licence, as permissive as the others; the package is a port of a module of Python",
  },
  {
    packages: /^axe-core$/,
    licence: 'MPL-2.0',
    mayShip: false,
    why: 'asks for the sources of changed files; tests load it, unchanged',
  },
  {
    packages: /^lightningcss(-.+)?$/,
    licence: 'MPL-2.0',
    mayShip: false,
    why: 'asks for the sources of changed files; it comes with the test runner, unchanged',
  },
  {
    packages: /^(buildcheck|cpu-features|ssh2)$/,
    licence: undefined,
    mayShip: false,
    why: 'MIT, named the way of old (`licenses`), which npm does not copy into the lockfile',
  },
];

describe('dependencies', () => {
  const groups = ['dependencies', 'devDependencies'] as const;

  test.each(groups)('every entry of %s is pinned to one version', (group) => {
    const loose = Object.entries(packageJson[group]).filter(
      // A second version of a package is there under a name of its own.
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

  test('every package that wants to run an install script, on any system, has its answer in allowScripts, and no other has', () => {
    const wanting = Object.entries(lockfile.packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => packageName(path));
    expect(Object.keys(packageJson.allowScripts).sort()).toEqual([...new Set(wanting)].sort());
  });

  test('only the package node may run its install script', () => {
    const allowed = Object.entries(packageJson.allowScripts).filter(([, isAllowed]) => isAllowed);
    expect(allowed.map(([name]) => name)).toEqual(['node']);
  });

  test('every package of the lockfile comes from the registry and carries its integrity', () => {
    const odd = Object.entries(lockfile.packages).filter(
      ([path, { integrity, link, resolved }]) =>
        path !== '' &&
        (!integrity?.startsWith('sha512-') ||
          link === true ||
          // Where it is written at all: a mirror is no property of the project.
          (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'))),
    );
    expect(odd.map(([path]) => path)).toEqual([]);
  });

  test('every package is under a licence that we may use it by, or is an exception with its reason', () => {
    const unusual = Object.entries(lockfile.packages)
      .filter(([path, { license = '' }]) => path !== '' && !license.split(' OR ').some(isPermissive))
      .map(([path, { license, dev }]) => ({ name: packageName(path), license, isShipped: dev !== true }));
    const excused = unusual.filter(({ name, license, isShipped }) =>
      licenceExceptions.some(
        ({ packages, licence, mayShip }) =>
          packages.test(name) && licence === license && (mayShip || !isShipped),
      ),
    );
    expect(unusual).toEqual(excused);
    const idle = licenceExceptions.filter(({ packages }) => !unusual.some(({ name }) => packages.test(name)));
    expect(idle).toEqual([]);
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

  test('CHANGELOG.md takes sentences below Unreleased, and has the version of package.json next', () => {
    const versions = [...read('CHANGELOG.md').matchAll(/^## \[([^\]]+)\]/gm)].map(([, version]) => version);
    expect(versions.slice(0, 2)).toEqual(['Unreleased', packageJson.version]);
  });

  test('SECURITY.md names a private channel and says how soon we answer', () => {
    const text = read('SECURITY.md');
    expect(text).toContain('private vulnerability reporting');
    expect(text).toMatch(/^\| confirm that we have read the report \| \d+ working days \|$/m);
  });

  test.each(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pages('docs')])(
    'every link of %s leads to a file, and to a heading in it',
    (path) => {
      const prose = read(path).replaceAll(/`[^`\n]*`/g, '');
      const links = [...prose.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
      const broken = links.filter(([, link = '', anchor]) => {
        const target = link === '' ? path : join(dirname(path), link);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
      });
      expect(broken.map(([link]) => link)).toEqual([]);
    },
  );
});

describe('decisions', () => {
  const numbered = decisionPages().filter((path) => /\/\d{4}-[a-z0-9-]+\.md$/.test(path));

  const index = read('docs/decisions/README.md');

  test('the index has each page under its own title', () => {
    const rows = [...index.matchAll(/^\| \[(\d{4})\]\(([^)]+)\) \| (.+) \|$/gm)];
    const titled = numbered.map((path) => {
      const file = path.replace('docs/decisions/', '');
      const number = file.slice(0, 4);
      return [number, file, read(path).split('\n')[0]?.replace(`# ${number}: `, '')];
    });
    expect(rows.map(([, number, link, title]) => [number, link, title])).toEqual(titled);
    expect(numbered.length).toBeGreaterThan(8);
  });

  test('every number is a page, or a row that names the page that merged or superseded it', () => {
    const pages = [...index.matchAll(/^\| \[(\d{4})\]\(/gm)].map(([, number]) => number);
    const gone = [...index.matchAll(/^\| (\d{4}) \| .+ \| (?:Merged into|Superseded by) \[(\d{4})\]/gm)];
    const numbers = [...pages, ...gone.map(([, number]) => number)].sort();
    expect(numbers).toEqual(numbers.map((_, at) => String(at + 1).padStart(4, '0')));
    expect(gone.map(([, , into]) => into).filter((into) => !pages.includes(into))).toEqual([]);
  });

  test.each(numbered)('%s has its status on top', (path) => {
    expect(read(path).split('\n')[2]).toMatch(/^Status: (Accepted|Superseded by \[\d{4}\])/);
  });

  test.each(numbered)('%s states context, choice and trade-offs', (path) => {
    expect([...read(path).matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual([
      'Context',
      'Choice',
      'What we gave up',
    ]);
  });
});

function decisionPages(): string[] {
  return pages('docs/decisions');
}

/** Every page in a folder and below it. */
function pages(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** What forges make of headings. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
