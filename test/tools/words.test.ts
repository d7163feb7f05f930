// Does the word list find its words, does a folder fail that has more of them than before, and has this tree no more?

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { faultsOf, hitsOf, hitsOfTitles, isCounted, tightened } from '../../tools/words/count.ts';
import { findWords, privateWords } from '../../tools/words/private-words.ts';
import { root } from '../architecture/project.ts';

const run = promisify(execFile);

const sentences: readonly (readonly [string, string])[] = [
  ['told', 'a bad edit is told with its line'],
  ['stands', 'What it means stands in the guide.'],
  ['anew', 'It begins anew at midnight.'],
  ['whoever', 'Whoever sets budgets can raise it.'],
  ['anyone who', 'Anyone who asks gets the same answer.'],
  ['lent', 'a key that is lent to Providers'],
  ['of then', 'the answer of then'],
  ['of before', 'an answer of before comes late'],
  ['let go', 'Slow senders are let go.'],
  ['has its turn', 'a body waits until it has its turn'],
  ['in hand', 'bodies in hand'],
  ['of its own accord', 'it follows of its own accord'],
  ['on its way', 'Not Ready, but on its way'],
  ['under way', 'a publish that is under way'],
  ['spoken to', 'what the target is spoken to in'],
  ['let in', 'Fewer are let in while the heap is full.'],
  ['meanwhile', 'replaced meanwhile'],
  ['behind (time)', 'a provider that fails behind its first content'],
  ['in front of (time)', 'a comment in front of the first event'],
  ['Leaving', 'const { leave } = useLeaving(keeping);'],
  ['letGo', 'this.letGo();'],
  ['UnderWay', 'await areUnderWay();'],
  ['isDoubted', 'readonly isDoubted: boolean;'],
  ['TakenRecords', 'class TakenRecords {'],
  ['SetAside', 'type SetAside = readonly string[];'],
  ['unclaimed', 'report.unclaimed(records);'],
  ['rests', 'a key that rests for a minute'],
  ['in flight out', 'a pod that is in flight out'],
  ['breathe', 'await breathe();'],
  ['allJudged', 'policies: readonly JudgedPolicy[]'],
];

describe('the word list', () => {
  test.each(sentences)('finds %s', (word, sentence) => {
    expect(findWords(sentence).map((hit) => hit.word)).toContain(word);
    expect(faultsOf(hitsOf([{ path: 'gateway/limits/a.ts', text: sentence }]), {})).not.toEqual([]);
  });

  test('has an example here for each of its words', () => {
    expect(sentences.map(([word]) => word)).toEqual(privateWords.map(({ word }) => word));
  });

  test.each([
    'A silent upstream is excellent.',
    'The gateway is behind a proxy and in front of the upstream.',
    'The lease is let go of.',
    'Let users in the namespace call it.',
  ])('takes no offence at: %s', (sentence) => {
    expect(findWords(sentence)).toEqual([]);
  });

  test('ignores code that prose quotes', () => {
    expect(hitsOf([{ path: 'CONTRIBUTING.md', text: 'Never write `told`.' }]).size).toBe(0);
  });

  test.each([
    ['gateway/limits/say.ts', true],
    ['docs/guides/limits.md', true],
    ['charts/penstock/values.yaml', true],
    ['charts/penstock/templates/crds/provider.yaml', false],
    ['test/fixtures/wire/a.chunks.txt', false],
    ['package-lock.json', false],
  ])('%s is read: %s', (path, isRead) => {
    expect(isCounted(path)).toBe(isRead);
  });
});

describe('a folder', () => {
  const two = hitsOf([
    { path: 'gateway/limits/a.ts', text: '// told' },
    { path: 'gateway/limits/deep/b.ts', text: '\n// anew' },
  ]);

  test('with more than before fails, and each place is named', () => {
    expect(faultsOf(two, { 'gateway/limits': 1 })).toEqual([
      'gateway/limits: 2 private words, 1 at most:',
      '  gateway/limits/a.ts:1 told -> reported, said, or the active voice',
      '  gateway/limits/deep/b.ts:2 anew -> again',
    ]);
  });

  test.each([2, 3])('with two does not fail where %i were', (most) => {
    expect(faultsOf(two, { 'gateway/limits': most })).toEqual([]);
  });

  test('is tightened to its present count, never raised, and removed at zero', () => {
    const allowed = { 'gateway/limits': 3, 'gateway/route': 1, 'gateway/table': 0 };
    expect(tightened(two, allowed)).toEqual({ 'gateway/limits': 2 });
    expect(tightened(two, { 'gateway/limits': 1 })).toEqual({ 'gateway/limits': 1 });
  });
});

describe('the title of a commit', () => {
  test.each([
    'gateway: a key that was told to wait is asked for other models',
    `gateway: ${'long '.repeat(20)}`,
  ])('fails: %s', (title) => {
    expect(faultsOf(hitsOfTitles([title]), {})).not.toEqual([]);
  });

  test('in plain words passes', () => {
    expect(hitsOfTitles(['gateway: cool down a rate-limited key per model']).size).toBe(0);
  });
});

test('no folder of this tree has more private words than before', async () => {
  const { stdout } = await run(process.execPath, [join(root, 'tools/words.ts')]);
  expect(stdout).toBe('');
});
