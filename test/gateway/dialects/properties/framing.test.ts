// However an upstream writes its stream, do clients of all four dialects get whole events of their own? In whichever legal spelling,
// passing through and translated: what goes out are whole events in their own names, data on one line, no `id:`, no `retry:`, nothing empty, and one end.
// The long form is `npm run e2e -- framing`.

import { expect, test } from 'vitest';
import { runFraming } from './framing.ts';

const runs = 1_000;
const seed = 20_261;

test(`${runs} streams of upstreams with arbitrary framing (seed ${seed}): clients get their own dialect`, {
  timeout: 120_000,
}, () => {
  const ends = new Map<string, number>();
  for (let run = 0; run < runs; run++) {
    const { faults, pair, end, sent } = runFraming(seed + run);
    if (faults.length > 0) expect({ seed: seed + run, pair, end, faults, sent }).toBeUndefined();
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  // Else nothing was tried: there are whole answers among them, and each way to fail.
  for (const end of ['complete', 'truncated', 'malformed', 'error-event']) {
    expect([end, (ends.get(end) ?? 0) > runs / 50]).toEqual([end, true]);
  }
});
