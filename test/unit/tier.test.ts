// Does a test file land in its tier by what it imports?

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importsOf, type LoadedModule } from '../support/imports-of.ts';
import { listUnitFiles, wayOutside } from './tier.ts';

function wayIn(files: Readonly<Record<string, readonly LoadedModule[]>>): string[] | undefined {
  return wayOutside('/a.test.ts', (file) => [...(files[file] ?? [])]);
}

test.each<[string, Record<string, LoadedModule[]>]>([
  ['a test of what imports no module of Node', { '/a.test.ts': [{ module: '/b.ts' }], '/b.ts': [] }],
  [
    'a test of what only asks whether a text is an address',
    { '/a.test.ts': [{ module: 'node:net', names: ['isIP'] }] },
  ],
  [
    'a test of two files that import each other',
    { '/a.test.ts': [{ module: '/b.ts' }], '/b.ts': [{ module: '/a.test.ts' }] },
  ],
])('%s is a unit test', (_, files) => {
  expect(wayIn(files)).toBeUndefined();
});

test.each<[string, Record<string, LoadedModule[]>, string[]]>([
  [
    'a test of what listens, two files away',
    {
      '/a.test.ts': [{ module: '/b.ts' }],
      '/b.ts': [{ module: '/c.ts' }],
      '/c.ts': [{ module: 'node:http', names: ['createServer'] }],
    },
    ['/b.ts', '/c.ts', 'node:http'],
  ],
  [
    'a test that starts a program',
    { '/a.test.ts': [{ module: 'node:child_process', names: ['spawn'] }] },
    ['node:child_process'],
  ],
  ['a test of many random inputs', { '/a.test.ts': [{ module: 'fast-check' }] }, ['fast-check']],
  ['a test that checks expressions', { '/a.test.ts': [{ module: 'recheck' }] }, ['recheck']],
  [
    'a test that imports a whole module of the network',
    { '/a.test.ts': [{ module: 'node:net' }] },
    ['node:net'],
  ],
])('%s is not in the unit tier', (_, files, way) => {
  expect(wayIn(files)).toEqual(['/a.test.ts', ...way]);
});

test('the decisions of a request are in the unit tier, and its I/O is not', () => {
  const files = listUnitFiles();
  expect(files).toContain('test/gateway/attempt/next-step.test.ts');
  expect(files).not.toContain('test/flow/failover.test.ts');
});

test('an import of types alone loads nothing', () => {
  const loaded = importsOf(import.meta.filename).map(({ module }) => module);
  expect(loaded).toContain(join(import.meta.dirname, 'tier.ts'));
  expect(loaded).toContain('vitest');
  expect(importsOf(join(import.meta.dirname, '../mutants/marks.ts')).map(({ module }) => module)).toEqual([
    'node:fs',
    'node:path',
  ]);
});
