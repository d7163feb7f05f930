// Who is measured when, and after which warm-up?

import { describe, expect, test } from 'vitest';
import { rotate, warmUpScenarios } from '../../bench/compare.ts';
import { scenarios } from '../../bench/scenarios.ts';

describe('the order of a run', () => {
  test('nobody always comes first', () => {
    expect([0, 1, 2, 3].map((round) => rotate(['a', 'b', 'c'], round).join(''))).toEqual([
      'abc',
      'bca',
      'cab',
      'abc',
    ]);
    expect(rotate([], 3)).toEqual([]);
  });

  test('a scenario at a low rate is warmed at full load', () => {
    const low = scenarios
      .filter((scenario) => scenario.kind === 'load')
      .filter((each) => each.name === 'unary-200');
    expect(warmUpScenarios(low).map((scenario) => scenario.name)).toEqual(['unary-1k']);
  });

  test('each kind is warmed once', () => {
    const loads = scenarios.filter((scenario) => scenario.kind === 'load');
    expect(warmUpScenarios(loads).map((each) => each.name)).toEqual([
      'unary-1k',
      'body-256k',
      'sse-burst',
      'sse-paced',
    ]);
  });
});
