// What have gateways between these dialects got wrong? Each pitfall of translation that we know of has
// a number, and a test that carries it in front of its sentence. Most stand in this folder and go the
// whole way: the request of a client, what the upstream is sent, what it answers, and what the client
// gets. Where one dialect's reader or writer has a test of its own, it carries the same number.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

test('every pitfall from 1 to 65 is named by a test, except one of an upstream that does not exist', () => {
  const folder = join(import.meta.dirname, '../../..');
  const named = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => pitfallsIn(readFileSync(join(folder, path), 'utf8')));
  const unnamed = Array.from({ length: 65 }, (_, at) => at + 1).filter((number) => !named.includes(number));
  // 63 is about the features that Amazon Bedrock learns of: there is no such upstream yet.
  expect(unnamed).toEqual([63]);
});

test('every pitfall of the clouds from 1 to 40 is named by a test', () => {
  const folder = join(import.meta.dirname, '../../..');
  const named = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => [...readFileSync(join(folder, path), 'utf8').matchAll(/['"`]cloud (\d{1,2}): /g)])
    .map(([, number]) => Number(number));
  const unnamed = Array.from({ length: 40 }, (_, at) => at + 1).filter((number) => !named.includes(number));
  expect(unnamed).toEqual([]);
});

/** The numbers in front of sentences, also of those that stand in tables: `'39: …'`, `['11, 13: …'`. */
function pitfallsIn(source: string): readonly number[] {
  const sentences = source.matchAll(/(?:\b(?:test|describe)\(|\)\(|\[)\s*['"`](\d{1,2}(?:, \d{1,2})*): /g);
  return [...sentences].flatMap(([, list = '']) => list.split(', ').map(Number));
}
