// How many records count as taken over, for each place that a reader has come to? Pure.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AcknowledgedRecords } from '../../../gateway/meter/acknowledged-records.ts';

const at = (offset: number) => ({ segment: 1, offset });

function writtenBy(groups: number): AcknowledgedRecords {
  const records = new AcknowledgedRecords(at(0), true);
  for (let group = 1; group <= groups; group++) records.onWritten(at(group), 1);
  return records;
}

describe('acknowledged records', () => {
  test('are those of the groups up to the cursor', () => {
    const records = writtenBy(3);
    expect(records.taken()).toBe(0);
    records.onTaken(at(2));
    expect(records.taken()).toBe(2);
    records.onTaken(at(3));
    expect(records.taken()).toBe(3);
  });

  test('are -1 until the records of an earlier process are acknowledged', () => {
    const records = new AcknowledgedRecords(at(5), false);
    records.onWritten(at(6), 1);
    records.onTaken(at(4));
    expect(records.taken()).toBe(-1);
    records.onTaken(at(6));
    expect(records.taken()).toBe(1);
  });

  test('take bounded memory, however long none is acknowledged, and are all counted in the end', () => {
    const records = writtenBy(100_000);
    expect(records.size).toBe(1_000);
    records.onTaken(at(99_999));
    expect(records.taken()).toBe(999);
    records.onTaken(at(100_000));
    expect([records.taken(), records.size]).toEqual([100_000, 0]);
  });

  test('are never more than the reader has, and all of them after it has read everything', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('write' as const), groups: fc.integer({ min: 1, max: 2_000 }) }),
        fc.record({ type: fc.constant('take' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const records = new AcknowledgedRecords(at(0), true);
        let [written, taken] = [0, 0];
        for (const step of all) {
          if (step.type === 'write')
            for (let group = 0; group < step.groups; group++) records.onWritten(at(++written), 1);
          else {
            taken += Math.floor((written - taken) * step.share);
            records.onTaken(at(taken));
          }
          expect(records.taken()).toBeLessThanOrEqual(taken);
        }
        records.onTaken(at(written));
        expect(records.taken()).toBe(written);
      }),
    );
  });
});
