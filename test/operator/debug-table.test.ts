// Does a page show at a glance which gateway pod runs what?

import { expect, test } from 'vitest';
import { buildDebugTable, renderDebugTable } from '../../operator/debug-table.ts';
import type { PodAnswer } from '../../operator/pods/pods-state.ts';
import { heard, NOW_MS, runs } from './status/status-support.ts';

const [pods, answers] = heard([
  runs(483),
  runs(481, {
    rejected: { epoch: 1, generation: 483, reason: 'shard penstock-k-00 is damaged' },
    health: [
      { provider: 'team-a/openai', state: 'working' },
      { provider: 'team-a/openai', upstreamModel: 'gpt-4o', state: 'open', untilMs: NOW_MS + 5_000 },
      { provider: 'team-a/openai', key: 'spare', state: 'rejected' },
    ],
  }),
  { failure: 'it does not answer (ECONNREFUSED)', atMs: NOW_MS } satisfies PodAnswer,
  undefined,
]);
const leading = { tableGeneration: 483, pods: pods.toReversed(), answers };

test('the leader lists every pod, in the order of names', () => {
  const table = buildDebugTable({ replica: 'operator-0', leader: 'operator-0', leading });
  expect(table).toMatchObject({ replica: 'operator-0', leader: 'operator-0', isLeader: true });
  expect(table.pods).toEqual([
    {
      name: 'a',
      epoch: 1,
      generation: 483,
      lag: 0,
      since: '1970-01-01T00:00:00.000Z',
      source: 'api',
      formats: { min: 1, max: 1 },
      troubles: [],
      heardAt: '2026-06-01T00:00:00.000Z',
    },
    {
      name: 'b',
      epoch: 1,
      generation: 481,
      lag: 2,
      since: '1970-01-01T00:00:00.000Z',
      source: 'api',
      rejected: { epoch: 1, generation: 483, reason: 'shard penstock-k-00 is damaged' },
      formats: { min: 1, max: 1 },
      troubles: [
        { provider: 'team-a/openai', upstreamModel: 'gpt-4o', state: 'open', untilMs: NOW_MS + 5_000 },
        { provider: 'team-a/openai', key: 'spare', state: 'rejected' },
      ],
      heardAt: '2026-06-01T00:00:00.000Z',
    },
    expect.objectContaining({ name: 'c', generation: null, failure: 'it does not answer (ECONNREFUSED)' }),
    expect.objectContaining({ name: 'd', generation: null, lag: null, heardAt: null }),
  ]);
});

test('on a terminal each pod has a line, and its errors are below', () => {
  const table = buildDebugTable({ replica: 'operator-0', leader: 'operator-0', leading });
  expect(renderDebugTable(table).split('\n')).toEqual([
    'table generation 483, by operator-0, which leads',
    '',
    'POD  GENERATION  LAG  SINCE                     SOURCE  FORMATS  HEARD                     TROUBLES',
    'a    483         0    1970-01-01T00:00:00.000Z  api     1-1      2026-06-01T00:00:00.000Z  0',
    'b    481         2    1970-01-01T00:00:00.000Z  api     1-1      2026-06-01T00:00:00.000Z  2',
    'c    -           -    -                         -       -        2026-06-01T00:00:00.000Z  0',
    'd    -           -    -                         -       -        -                         0',
    '',
    'b: refused table generation 483: shard penstock-k-00 is damaged',
    'b: Provider team-a/openai, model gpt-4o: open until 2026-06-01T00:00:05.000Z',
    'b: Provider team-a/openai, key spare: rejected',
    'c: it does not answer (ECONNREFUSED)',
    '',
  ]);
});

test('a replica that does not lead names the leader, if known', () => {
  const other = buildDebugTable({ replica: 'operator-1', leader: 'operator-0' });
  expect(other).toEqual({ replica: 'operator-1', leader: 'operator-0', isLeader: false });
  const nobody = buildDebugTable({ replica: 'operator-1', leader: undefined });
  expect(renderDebugTable(nobody)).toBe('operator-1 does not lead: no leader is known\n');
});
