// Who is measured when, and after which warm-up?

import { describe, expect, test } from 'vitest';
import { rotate, warmUpScenarios } from '../../../tools/bench/compare.ts';
import { isServedBy, type LoadScenario, scenarios } from '../../../tools/bench/scenarios.ts';
import { targetNames } from '../../../tools/bench/targets/target.ts';

const loads = scenarios.filter((scenario) => scenario.kind === 'load');

describe('the order of a run', () => {
  test('no target always comes first', () => {
    expect([0, 1, 2, 3].map((round) => rotate(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
    expect(rotate([], 3)).toEqual([]);
  });

  test('a scenario at a low rate is warmed at full load', () => {
    const low = loads.filter((each) => each.name === 'unary-200');
    expect(warmUpScenarios(low).map((scenario) => scenario.name)).toEqual(['unary-1k']);
  });

  test('each kind is warmed once', () => {
    expect(warmUpScenarios(loads).map((each) => each.name)).toEqual([
      'unary-1k',
      'body-256k',
      'sse-burst',
      'sse-burst-messages',
      'sse-burst-responses',
      'sse-paced',
    ]);
  });

  test('translating is warmed by translating, whichever scenario asks for it', () => {
    const paced = loads.filter((each) => each.name === 'sse-paced-messages');
    expect(warmUpScenarios(paced).map((scenario) => scenario.name)).toEqual(['sse-burst-messages']);
  });
});

describe('a translated scenario', () => {
  const translated = loads.filter((scenario) => scenario.dialect !== undefined);

  test('is there for every dialect that the client can speak besides that of the mock', () => {
    const dialects = new Set(translated.map((scenario) => scenario.dialect));
    expect(dialects).toEqual(new Set(['anthropic-messages', 'openai-responses']));
  });

  test.each(translated)('is for the gateway alone: $name', (scenario) => {
    expect(targetNames.filter((target) => isServedBy(scenario, target))).toEqual(['gateway']);
  });

  test.each(translated)('differs from its pass-through in the dialect only: $name', (scenario) => {
    const passThrough = loads.find((other) => other.name === scenario.passThrough);
    expect(passThrough).toBeDefined();
    if (passThrough === undefined) return;
    expect(passThrough.dialect).toBeUndefined();
    expect(isServedBy(passThrough, 'gateway')).toBe(true);
    expect(loadOf(scenario)).toEqual(loadOf(passThrough));
  });
});

/** What is put on, and what its cost is reported per. */
function loadOf({ model, bodyBytes, connections, events, rampMs, unit }: LoadScenario) {
  return { model, bodyBytes, connections, events, rampMs, unit };
}
