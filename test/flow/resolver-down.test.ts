// The resolver is dead: is a provider that is in use still reached, over connections that are new and for one that died?

import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../support/wall.ts';
import { ask } from './ask.ts';
import { nativeVariants } from './fault-matrix.ts';
import { modes } from './faults.ts';
import { inHouse } from './house.ts';
import { stageByName } from './resolver-down.ts';

const variants = nativeVariants.flatMap((variant) =>
  modes.map((mode) => ({ ...variant, name: `${variant.name}, ${mode}`, isStream: mode === 'stream' })),
);

describe.each(variants)('$name', ({ endpoint, upstream, isStream }) => {
  test.each<[string, (mayAnswer: Promise<void>) => Behaviour]>([
    ['a second connection beside the first', (until) => ({ type: 'answer', beforeHeaders: { until } })],
    ['a fresh one, in place of a kept one that dies', () => ({ type: 'stale-reuse', how: 'reset' })],
  ])(
    '%s reaches a provider whose name was looked up long ago',
    inHouse(async (house, _what, behaviourOf) => {
      const { rig, wall, resolver } = await stageByName(house, upstream);
      const asked = { endpoint, isStream };
      for (let n = 0; n < 3; n++) expect((await ask(rig, asked)).status).toBe(200);
      expect(resolver.questions, 'one connection is kept').toBe(1);

      resolver.isDead = true;
      resolver.nowMs += 1_800_000;
      const mayAnswer = Promise.withResolvers<void>();
      wall.script(behaviourOf(mayAnswer.promise));
      const first = ask(rig, asked);
      await expect.poll(() => wall.calls.length).toBeGreaterThanOrEqual(4);
      wall.script({ type: 'answer' });
      expect((await ask(rig, asked)).status).toBe(200);
      mayAnswer.resolve();
      expect((await first).status).toBe(200);
      expect(resolver.questions, 'the fault fired').toBeGreaterThan(1);
      // Nobody would notice before the last answer is too old.
      const metrics = await rig.gateway.metrics.registry.metrics();
      const failed = /^penstock_dns_lookup_failures_total\{reason="failed"\} (\d+)$/m.exec(metrics)?.[1];
      expect(Number(failed)).toBe(resolver.questions - 1);
      expect(rig.records.map(({ failure }) => failure)).not.toContain('dns_failed');
    }),
  );
});
