// The parser of manifests shares its thread with the requests: the time that a file takes grows with its length alone, and there is a
// bound on what is read. Before, a map of 40,000 keys held everything up for half a minute.

import { describe, expect, test } from 'vitest';
import { editText } from '../../local/dashboard/edit-text.ts';
import type { Manifests } from '../../local/manifests.ts';
import { parseManifests } from '../../local/parse-manifests.ts';
import { startCpuTimer } from '../support/cpu-timer.ts';
import { some } from '../support/runs.ts';

/** CPU time of this thread, so that neighbours on the machine do not count. Each of these takes a tenth of it. */
const withinMs = 4_000;

function timed<T>(work: () => T): { readonly value: T; readonly ms: number } {
  const workedMs = startCpuTimer();
  const value = work();
  return { value, ms: workedMs() };
}

const parse = (content: string): Manifests =>
  parseManifests([{ name: 'large.yaml', content, modifiedMs: 0 }], (_, modifiedMs) => modifiedMs);

const many = (count: number, write: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => write(index)).join('');

const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: large }\n';
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: { name: large }\n';
const asJson = (count: number) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'large' },
    data: Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v'])),
  });

describe('a large file is read in time that grows with its length alone', () => {
  const large: readonly [string, string][] = [
    ['a map', `${configMap}data:\n${many(24_000, (index) => `  k${index}: v\n`)}`],
    ['a map in braces', `${configMap}data: {${many(24_000, (index) => `k${index}: v, `)}}\n`],
    ['a map of JSON', asJson(24_000)],
    ['a list', `${configMap}other:\n${'  - a\n'.repeat(30_000)}`],
    ['many documents', `${configMap}---\n${'--- # nothing\n'.repeat(30_000)}`],
  ];
  test.each(some(large, 2))('%s', (_what, content) => {
    const { value, ms } = timed(() => parse(content));
    expect(value.problems).toEqual([]);
    expect(value.configMaps.map(({ name }) => name)).toEqual(['large']);
    expect(ms).toBeLessThan(withinMs);
  });

  const faulty: readonly [string, string, number][] = [
    ['values that are no strings', `${secret}stringData:\n${many(20_000, (i) => `  k${i}: 1\n`)}`, 20_000],
    ['values that are no base64', `${secret}data:\n${many(20_000, (i) => `  k${i}: ä\n`)}`, 20_000],
    ['unknown fields', `${secret}${many(20_000, (i) => `k${i}: a\n`)}`, 20_000],
    ['errors in one line', ']'.repeat(90_000), 1],
  ];
  test.each(some(faulty, 2, 1))('with a fault at every place: %s', (_what, content, faults) => {
    const { value, ms } = timed(() => parse(content));
    expect(value.problems).toHaveLength(faults);
    expect(ms).toBeLessThan(withinMs);
  });

  test('also where the dashboard changes an object in it', () => {
    const content = `kind: A\nspec: { x: 1 }\n---\n${many(12_000, (index) => `k${index}: v\n`)}`;
    const { value, ms } = timed(() =>
      editText({ content, document: 0, path: [] }, () => ({ kind: 'A', spec: { x: 2 } })),
    );
    expect(value).toBe(content.replace('x: 1', 'x: 2'));
    expect(ms).toBeLessThan(withinMs);
  });
});

describe('a file above the limits is named, with the line and the remedy', () => {
  const excess =
    'holds more than 100000 names, values, marks and line ends and was not read; split it into several files';

  test.each<[string, string, string]>([
    ['a map of 40,000 keys', many(40_000, (index) => `k${index}: v\n`), 'large.yaml:25001'],
    ['a map in braces', `{${many(40_000, (index) => `k${index}: v, `)}}`, 'large.yaml:1'],
    ['a map of JSON', asJson(40_000), 'large.yaml:1'],
    ['250,000 items of a list', '- a\n'.repeat(250_000), 'large.yaml:33334'],
    ['250,000 documents', '---\n'.repeat(250_000), 'large.yaml:50001'],
    ['blank lines', '\n'.repeat(1_000_000), 'large.yaml:100002'],
  ])('%s', (_what, content, place) => {
    const { value, ms } = timed(() => parse(content));
    expect(value.problems).toEqual([{ place, id: `large.yaml ${excess}`, text: excess }]);
    expect(value.unread).toEqual(new Set(['large.yaml']));
    expect(ms).toBeLessThan(withinMs);
  });

  test('aliases, each of which is looked for among all anchors', () => {
    const content = `a:\n${many(10_000, (index) => `- &a${index} b\n`)}${many(10_000, (index) => `- *a${index}\n`)}`;
    const { value, ms } = timed(() => parse(content));
    expect(value.problems.map(({ text }) => text)).toEqual([
      'uses anchors more than 1000 times and was not read; replace them by their content',
    ]);
    expect(ms).toBeLessThan(withinMs);
  });
});

describe('a name that is twice in a map is still refused, at its second place', () => {
  test.each<[string, string, string]>([
    ['in a block', 'kind: A\nspec:\n  x: 1\n  y: 2\n  x: 3\n', 'large.yaml:5:3'],
    ['in braces', 'kind: A\nspec: { x: 1, "x": 2 }\n', 'large.yaml:2:15'],
    ['in JSON', '{"kind": "A",\n "kind": "B"}', 'large.yaml:2:2'],
    ['in a list of maps', 'kind: A\nitems:\n  - { a: 1 }\n  - { a: 1, a: 2 }\n', 'large.yaml:4:13'],
  ])('%s', (_what, content, place) => {
    const text = 'Map keys must be unique';
    expect(parse(content).problems).toEqual([{ place, id: `large.yaml ${text}`, text }]);
  });

  test('and merge keys are allowed any number of times', () => {
    const content = `${configMap}one: &one { a: b }\ntwo: &two { c: d }\ndata:\n  <<: *one\n  <<: *two\n`;
    const { problems, configMaps } = parse(content);
    expect(problems).toEqual([]);
    expect(configMaps.map(({ data }) => data)).toEqual([{ a: 'b', c: 'd' }]);
  });
});
