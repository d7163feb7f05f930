// A caller who leaves costs nothing more: the upstream is released at once, in every dialect and at every point of an answer.

import { expect, test } from 'vitest';
import { lineOf } from './ask.ts';
import { inHouse } from './house.ts';
import { vanish } from './vanish.ts';

test(
  'the upstream notices each of 50 callers that disconnect, and none is charged for more than was sent and generated',
  inHouse(async (house) => {
    const { noticeMs, records, generated } = await vanish(house, 50);
    expect(noticeMs).toHaveLength(50);
    expect(new Set(records.map(lineOf))).toEqual(new Set(['1 t0 cancelled tenant']));
    // A plain answer is generated before its first byte, of which the caller has seen none.
    const streamed = records.flatMap(({ isStream, usage }, run) =>
      isStream ? [[usage.output, generated[run]]] : [],
    );
    for (const [counted = 0, real = 0] of streamed) expect([counted, real]).toEqual([real, real]);
    expect(streamed.filter(([counted]) => counted === 3)).toHaveLength(10);
    // The upstream has read it, at whatever point they left.
    const inputs = records.map(
      ({ usage, isEstimated }) => isEstimated && usage.input > 0 && usage.input < 40,
    );
    expect(new Set(inputs)).toEqual(new Set([true]));
  }),
);
