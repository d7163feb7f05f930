// Is a text whose lists are cut out of it the same data as the text at once, whatever it holds?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { cutLists } from '../../../gateway/table/cut-lists.ts';
import { runs } from '../../support/runs.ts';

const listSchema = z.array(z.unknown());

/** Cut after each entry, and put together again. */
function cut(text: string) {
  const { data, pieces } = cutLists(text, 1);
  const whole = z.record(z.string(), z.unknown()).parse(data);
  const texts = Object.entries(pieces).flatMap(([name, list]) => list.map((piece) => [name, piece] as const));
  for (const [name, piece] of texts.toReversed()) {
    whole[name] = [...listSchema.parse(JSON.parse(piece)), ...listSchema.parse(whole[name])];
  }
  return { whole, count: texts.length };
}

const keys = ['a', 'b', 'c'].map((sha256) => ({ sha256, budgets: [{ window: {} }] }));
const routes = ['r', 's'].map((id) => ({ id, targets: [{ name: 'x' }] }));
const table = { epoch: 1, routes, keys, generation: 2 };

test('each entry of a list but the last is a piece', () => {
  const { whole, count } = cut(JSON.stringify(table));
  expect(whole).toEqual(table);
  expect(count).toBe(3);
});

describe('a text without a place to cut is parsed as a whole,', () => {
  test.each([
    ['with blanks', JSON.stringify(table, null, 1)],
    ['with other first members', JSON.stringify({ x: 1, keys: keys.map((key) => ({ id: 1, ...key })) })],
    ['with empty lists', JSON.stringify({ x: 1, routes: [], keys: [] })],
    ['without lists', '7'],
  ])('%s', (_, text) => {
    expect(cutLists(text, 1)).toEqual({ data: JSON.parse(text), pieces: { keys: [], routes: [] } });
  });
});

describe('a cut at the wrong place is an error,', () => {
  test.each([
    ['in a list of that name inside of another member', { x: 1, settings: { x: 1, keys } }],
    ['in an inner one before the right one', { x: 1, settings: { x: 1, keys }, keys }],
    ['beyond the end of the list', { x: 1, keys: keys.slice(0, 1), more: keys }],
    ['in lists inside of an entry', { x: 1, keys: [{ sha256: 'a', inner: keys }] }],
  ])('%s', (_, data) => {
    expect(() => cut(JSON.stringify(data))).toThrow(SyntaxError);
  });

  test('in invalid JSON', () => {
    expect(() => cut(JSON.stringify(table).replace('"b"', 'b'))).toThrow(SyntaxError);
    expect(() => cut(JSON.stringify(table).slice(0, -1))).toThrow(SyntaxError);
  });
});

test('strings that look like a place to cut are no such place', () => {
  const traps = fc.constantFrom('},{"sha256":"', '},{', ',"keys":[{"sha256":"', '"', '\\', '}],', ',', 'ä');
  const word = fc.array(traps, { maxLength: 4 }).map((parts) => parts.join(''));
  // Names without escapes: JSON.parse of Node 26.10 takes an escaped name for another one that came before in its place.
  const name = fc.constantFrom('},{', 'keys', 'sha256', 'ä');
  const entry = fc.record({ sha256: word, metadata: fc.dictionary(name, word, { maxKeys: 2 }) });
  fc.assert(
    fc.property(word, fc.array(entry, { maxLength: 5 }), word, (before, list, after) => {
      const data = { before, routes: [], keys: list, after };
      expect(cut(JSON.stringify(data)).whole).toEqual(data);
    }),
    { numRuns: runs(2_000) },
  );
});
