// The schema of a caller, held to what the upstream can take.

import { expect, test } from 'vitest';
import { encodeOutputSchema, requiresAll } from '../../../../gateway/dialects/anthropic/output-schema.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';

test.each(['__proto__', 'constructor'])('T14: a member called %s stays a member, with its value', (name) => {
  const schema = `{"type":"object","properties":{"${name}":{"type":"string"}},"${name}":{"type":"null"}}`;
  expect(JSON.stringify(encodeOutputSchema(JSON.parse(schema)))).toBe(
    schema.replace(/\}$/, ',"additionalProperties":false}'),
  );
});

test('whether all is required takes as long as there are properties', () => {
  const names = Array.from({ length: 100_000 }, (_, n) => `property_${n}`);
  const properties = Object.fromEntries(names.map((name) => [name, {}]));
  const workedMs = startCpuTimer();
  expect(requiresAll({ properties, required: names.toReversed() })).toBe(true);
  expect(requiresAll({ properties, required: names.slice(1) })).toBe(false);
  // Dozens of times what it takes, and less than to look through the list for each.
  expect(workedMs()).toBeLessThan(10_000);
});
