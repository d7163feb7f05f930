// Do tool ids fit the upstream, in pairs?

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Part } from '../../../../gateway/dialects/conversation.ts';
import { fitToolIds } from '../../../../gateway/dialects/tools/tool-ids.ts';
import { conversationOf } from '../support/make-conversation.ts';

const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', kind: 'function', input: '{}' });
const calling = (ids: readonly string[]) =>
  conversationOf({ turns: [{ role: 'assistant', parts: ids.map(call) }] });

test('ids that fit go through unchanged', () => {
  const ids = ['call_abc123', 'toolu_01A-b', 'x'];
  const fit = fitToolIds(calling(ids), 64);
  expect(ids.map(fit)).toEqual(ids);
});

test('42: ids with dots, colons and pipes are changed alike on both sides, and stay apart', () => {
  const ids = ['call.1', 'call:1', 'call|1', 'call_1'];
  const fit = fitToolIds(calling(ids), 64);
  const fitted = ids.map(fit);
  expect(new Set(fitted).size).toBe(4);
  expect(fitted[3]).toBe('call_1');
  expect(ids.map(fit)).toEqual(fitted);
});

test('any ids fit, differ, and are the same for the same conversation', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 90 }), { maxLength: 10 }), (ids) => {
      const fitted = ids.map(fitToolIds(calling(ids), 40));
      for (const id of fitted) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
      expect(new Set(fitted).size).toBe(ids.length);
      expect(ids.map(fitToolIds(calling(ids), 40))).toEqual(fitted);
    }),
    { seed: 8, numRuns: 1000 },
  );
});
