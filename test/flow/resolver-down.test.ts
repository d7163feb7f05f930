// The resolver is dead: is a provider that is in use still reached, over connections that are new and for one that died?

import { expect, test } from 'vitest';
import { startRig, tableOf } from '../gateway/rig.ts';
import type { Behaviour } from '../support/wall.ts';
import { ask } from './ask.ts';
import { inHouse } from './house.ts';

const name = 'provider.example';

test.each<[string, (mayAnswer: Promise<void>) => Behaviour]>([
  ['a second connection beside the first', (until) => ({ type: 'answer', beforeHeaders: { until } })],
  ['a fresh one, in place of a kept one that dies', () => ({ type: 'stale-reuse', how: 'reset' })],
])(
  '%s finds a provider whose name was asked for long ago',
  inHouse(async (house, _what, behaviourOf) => {
    const state = { nowMs: 5_000_000, isDead: false, questions: 0 };
    const wall = await house.wallThat({ type: 'answer' });
    const table = tableOf([{ baseUrl: wall.baseUrl.replace('127.0.0.1', name) }]);
    const rig = await startRig(table, {
      lookups: {
        nowMs: () => state.nowMs,
        resolve: async () => {
          state.questions += 1;
          if (state.isDead) throw Object.assign(new Error('down'), { code: 'EAI_AGAIN' });
          return ['127.0.0.1'];
        },
      },
    });
    house.onClose(() => rig.close());
    for (let n = 0; n < 3; n++) expect((await ask(rig)).status).toBe(200);
    expect(state.questions, 'one connection is kept').toBe(1);

    state.isDead = true;
    state.nowMs += 1_800_000;
    const mayAnswer = Promise.withResolvers<void>();
    wall.script(behaviourOf(mayAnswer.promise));
    const first = ask(rig);
    await expect.poll(() => wall.calls.length).toBeGreaterThanOrEqual(4);
    wall.script({ type: 'answer' });
    expect((await ask(rig)).status).toBe(200);
    mayAnswer.resolve();
    expect((await first).status).toBe(200);
    expect(state.questions, 'the fault fired').toBeGreaterThan(1);
    // Nobody would notice before the last answer is too old.
    const metrics = await rig.gateway.metrics.registry.metrics();
    const failed = /^penstock_dns_lookup_failures_total\{reason="failed"\} (\d+)$/m.exec(metrics)?.[1];
    expect(Number(failed)).toBe(state.questions - 1);
    expect(rig.records.map(({ failure }) => failure)).not.toContain('dns_failed');
  }),
);
