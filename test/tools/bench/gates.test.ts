// Gates and goals: data that must speak of things that exist.

import { describe, expect, test } from 'vitest';
import { bounds, broken, ceilings, judge } from '../../../tools/bench/gates.ts';
import { isServedBy, scenarios } from '../../../tools/bench/scenarios.ts';

describe('gates', () => {
  test('speak of scenarios that exist and put on load', () => {
    const loads = scenarios.filter((scenario) => scenario.kind === 'load').map((scenario) => scenario.name);
    expect(bounds.filter((bound) => !loads.includes(bound.scenario))).toEqual([]);
  });

  test('hold the cost of translating against pass-through, in every scenario that translates', () => {
    const translated = scenarios.filter((each) => each.kind === 'load' && each.passThrough !== undefined);
    for (const level of ['gate', 'goal']) {
      const held = bounds
        .filter(({ limit }) => limit.kind === 'cpu-ratio' && limit.against === 'pass-through')
        .filter((bound) => bound.level === level);
      expect(held.map((bound) => bound.scenario)).toEqual(translated.map((scenario) => scenario.name));
      expect(held.map(({ limit }) => limit)).toEqual(
        (level === 'gate' ? [1.5, 1.6, 1.5] : [1.3, 1.3, 1.3]).map((max) => ({
          kind: 'cpu-ratio',
          against: 'pass-through',
          max,
        })),
      );
    }
  });

  test('are passed at the bound and missed above it', () => {
    const verdictAt = (envoy: number, p99: number | undefined) =>
      judge(new Map([['body-256k', { cpuRatio: { envoy }, latencyP99Ms: p99 }]]))
        .filter((one) => one.scenario === 'body-256k')
        .map((one) => one.verdict);
    expect(verdictAt(1.7, 5)).toEqual(['pass', 'pass', 'pass']);
    expect(verdictAt(1.71, 5.01)).toEqual(['pass', 'miss', 'miss']);
    expect(verdictAt(5.01, undefined)).toEqual(['miss', 'miss', 'not measured']);
  });
});

describe('ceilings of the build', () => {
  test('speak of loads that floor and gateway can both take, and lie above their goals', () => {
    const shared = scenarios.filter(
      (each) => each.kind === 'load' && isServedBy(each, 'floor') && isServedBy(each, 'gateway'),
    );
    const names = shared.map(({ name }) => name);
    expect(ceilings.filter(({ scenario, max, goal }) => !names.includes(scenario) || max < goal)).toEqual([]);
  });

  test('a ratio at its ceiling passes; one above, or none, fails', () => {
    const all = [{ scenario: 'unary-1k', max: 2, goal: 1 }];
    expect(broken(new Map([['unary-1k', 2]]), all)).toEqual([]);
    expect(broken(new Map([['unary-1k', 2.01]]), all)).toEqual(all);
    expect(broken(new Map([['unary-1k', Number.NaN]]), all)).toEqual(all);
    expect(broken(new Map(), all)).toEqual(all);
  });
});
