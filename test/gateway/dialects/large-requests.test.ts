// Is a sound request that has far more in it than anybody would say translated as fast as it is read?

import { expect, test } from 'vitest';
import { bombs } from '../../support/attack/json-bombs.ts';
import { startCpuTimer } from '../../support/cpu-timer.ts';
import { translateThrough } from '../../support/translate-through.ts';

const dialects = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

const sound = [
  ...['manyTurns', 'manyParts', 'escapedParts', 'longPrompt', 'laterSystem'],
  ...['manyTools', 'longNames', 'alikeNames', 'manyStops', 'allowedTools', 'requiredProperties'],
];

test.each(sound)('%s: taken from every dialect to every other', (name) => {
  for (const dialect of dialects) {
    const body = Buffer.from(bombs[name]?.({ dialect, model: 'm' }, 500_000) ?? '');
    for (const upstream of dialects) {
      const workedMs = startCpuTimer();
      expect(translateThrough(dialect, upstream, body).sent).toHaveLength(1);
      // A hundred times what it takes.
      expect(workedMs()).toBeLessThan(10_000);
    }
  }
});
