// Does a drill prove what a request would meet? Every fault, on routes of many shapes, against the pipeline that requests go
// through; the clock is the test's.

import { describe, expect, test } from 'vitest';
import { drillFaultSchema } from '../../../core/contract/exchange.ts';
import {
  dialectNameSchema,
  type UpstreamDialectName,
  upstreamDialectSchema,
} from '../../../core/contract/routing-table.ts';
import type { RigTarget } from '../rig.ts';
import { type Drill, drill, keys, main, spare } from './play-drill.ts';

const native = (dialect: UpstreamDialectName): Partial<RigTarget> => ({
  dialects: [dialect],
  providerEntry: { dialects: [dialect] },
});

describe('the next target takes over', () => {
  const pairs = dialectNameSchema.options.flatMap((client) =>
    upstreamDialectSchema.options.map((upstream) => [client, upstream] as const),
  );

  test.each(pairs)('of a model that is called in %s, at an upstream of %s', async (client, upstream) => {
    const targets = [
      { ...main, ...native(client) },
      { ...spare, ...native(upstream) },
    ];
    const outcome = await drill({ targets, route: { endpoints: [client] } });
    expect(outcome).toEqual({
      id: 'one',
      isPassed: true,
      servedBy: 'spare',
      takeoverMs: 0,
      message: 'target spare answered 0 ms after target main failed',
    });
  });

  test.each(['ServerError', 'RateLimited', 'Reset'] as const)('from one with %s', async (fault) => {
    expect(await drill({ fault })).toMatchObject({ isPassed: true, servedBy: 'spare', takeoverMs: 0 });
  });

  test('from one that is silent, as soon as timeouts.firstEvent of that target is over', async () => {
    const targets = [{ ...main, timeouts: { firstEventMs: 800 } }, spare];
    expect(await drill({ fault: 'Hang', targets })).toMatchObject({
      isPassed: true,
      servedBy: 'spare',
      takeoverMs: 800,
    });
  });

  test('at the same tier too', async () => {
    const targets = [main, spare].map((target) => ({ ...target, priority: 0 }));
    expect(await drill({ targets })).toMatchObject({ isPassed: true, servedBy: 'spare' });
  });

  test.each([2, 3, 4])('after all keys of the first one, with %d attempts', async (maxAttempts) => {
    const targets = [{ ...main, keys }, spare];
    const outcome = await drill({ fault: 'RateLimited', targets, failover: { maxAttempts } });
    expect(outcome).toMatchObject({ isPassed: true, servedBy: 'spare' });
  });
});

describe('a failed drill names the remedy', () => {
  const cases: readonly (readonly [string, Drill, string])[] = [
    ['one target', { targets: [main] }, 'target main is the only target in use: add a second target'],
    [
      'the other has no key in use',
      { targets: [main, { ...spare, keys: { a: 'secret-a' }, providerEntry: { keys: [] } }] },
      'target spare has no weight or no key in use, or cannot carry the request',
    ],
    [
      'the other is drained',
      { targets: [main, { ...spare, weight: 0 }] },
      'target main is the only target in use: target spare has no weight',
    ],
    ['a fault of a later version', { fault: 'PlugPulled' }, 'does not know the fault PlugPulled'],
    [
      'one attempt',
      { failover: { maxAttempts: 1 } },
      'failover.maxAttempts is 1, so nothing is tried after target main',
    ],
    [
      'the other is at the same provider, which cannot be reached',
      {
        fault: 'Reset',
        targets: [
          { ...main, provider: 'platform/p' },
          { ...spare, baseUrl: main.baseUrl, provider: 'platform/p' },
        ],
      },
      'no other target answered after target main failed, in 2 attempts: ',
    ],
    [
      'a rate limit that is no reason to move on',
      { fault: 'RateLimited', failover: { retryOn: ['ServerError'] } },
      'failover.retryOn lacks RateLimited',
    ],
    [
      'silence that is no reason to move on',
      { fault: 'Hang', failover: { retryOn: ['ServerError'] } },
      'failover.retryOn lacks Timeout',
    ],
    [
      'a connection that breaks and is no reason to move on',
      { fault: 'Reset', failover: { retryOn: ['ServerError'] } },
      'failover.retryOn lacks ConnectFailure',
    ],
    [
      'all attempts at one target',
      { failover: { attemptsPerTarget: 3 } },
      'failover.attemptsPerTarget is 3; raise maxAttempts above that',
    ],
    [
      'a stream that is cut after its first words',
      { fault: 'CutStream' },
      'cut off after its first content had reached the caller',
    ],
    ['a model that the pod does not have', { id: 'team/other' }, 'does not have the model'],
  ];
  test.each(upstreamDialectSchema.options)(
    'a stream of %s that is cut after its first words',
    async (dialect) => {
      const targets = [{ ...main, ...native(dialect) }, spare];
      const outcome = await drill({ fault: 'CutStream', targets, route: { endpoints: ['openai-chat'] } });
      expect(outcome.message).toContain('cut off after its first content had reached the caller');
    },
  );

  test.each(cases)('%s', async (_, asked, part) => {
    const outcome = await drill(asked);
    expect(outcome.message).toContain(part);
    expect(outcome).toMatchObject({ isPassed: false });
    expect(outcome).not.toHaveProperty('servedBy');
  });

  test('a silence that is too long names the timeout and the duration', async () => {
    const outcome = await drill({ fault: 'Hang' });
    expect(outcome).toMatchObject({ isPassed: false, servedBy: 'spare', takeoverMs: 12_000 });
    expect(outcome.message).toBe(
      'target spare answered 12 s after target main failed, and takeoverWithin is 2 s: the gateway waits for a silent target ' +
        'for timeouts.firstEvent, 12 s at target main; lower it, or raise takeoverWithin',
    );
  });

  test('pauses before the next target are included', async () => {
    const failover = { attemptsPerTarget: 2, backoffBaseMs: 5_000, backoffMaxMs: 5_000 };
    const outcome = await drill({ failover });
    expect(outcome).toMatchObject({ isPassed: false, servedBy: 'spare', takeoverMs: 2_500 });
    expect(outcome.message).toContain('failover.attemptsPerTarget is 2, with the pauses of failover.backoff');
  });
});

test.each(drillFaultSchema.options)('no word of a credential is in what %s brings', async (fault) => {
  const outcome = await drill({ fault, targets: [{ ...main, keys }, spare] });
  expect(JSON.stringify(outcome)).not.toContain('secret-');
});
