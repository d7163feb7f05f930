// What does a pod say of its table? Which one is in use since when, and which one was refused, while that is news.

import { describe, expect, test } from 'vitest';
import type { LoadFailure } from '../../../gateway/table/load-error.ts';
import type { TableOrigin } from '../../../gateway/table/sources/source.ts';
import { TableStatus } from '../../../gateway/table/status.ts';

function makeStatus() {
  let nowMs = 0;
  let changes = 0;
  const status = new TableStatus(() => ++nowMs);
  status.onChange(() => changes++);
  const version = (generation: number) => ({ epoch: 1, generation });
  return {
    status,
    changes: () => changes,
    take: (generation: number, source: TableOrigin = 'api') =>
      status.taken({ version: version(generation), source }),
    refuse: (generation: number, failure: LoadFailure = 'corrupt', reason = 'bad') =>
      status.refused(reason, { failure, version: version(generation) }),
  };
}

test('nothing is reported before the first table', () => {
  expect(makeStatus().status.state()).toEqual({});
});

test('a table of the copy that the API server confirms counts as in use since the copy was read', () => {
  const { status, take } = makeStatus();
  take(1, 'copy');
  take(1, 'api');
  expect(status.state().table).toEqual({ epoch: 1, generation: 1, source: 'api', sinceMs: 1 });
});

describe('a refusal', () => {
  test('is reported until a table of that number or newer is in use', () => {
    const { status, take, refuse } = makeStatus();
    take(1);
    refuse(3);
    take(2);
    expect(status.state()).toMatchObject({
      table: { generation: 2 },
      rejected: { generation: 3, reason: 'bad' },
    });
    take(3);
    expect(status.state().rejected).toBeUndefined();
  });

  test('of a table older than the one in use is not reported', () => {
    const { status, take, refuse } = makeStatus();
    take(5);
    refuse(4, 'older');
    expect(status.state().rejected).toBeUndefined();
  });

  test('that is repeated does not change the status', () => {
    const { changes, refuse } = makeStatus();
    for (const _ of [1, 2, 3]) refuse(2);
    expect(changes()).toBe(1);
    refuse(2, 'corrupt', 'worse');
    expect(changes()).toBe(2);
  });

  test('has a limited length', () => {
    const { status, refuse } = makeStatus();
    refuse(2, 'invalid', 'x'.repeat(5_000));
    expect(status.state().rejected?.reason).toHaveLength(2_000);
  });
});
