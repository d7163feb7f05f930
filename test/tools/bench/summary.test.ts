// From many noisy rounds to one verdict.

import { describe, expect, test } from 'vitest';
import { whyBroken } from '../../../tools/bench/compare.ts';
import type { Measurement } from '../../../tools/bench/measurement.ts';
import { type ReportInput, writeReport } from '../../../tools/bench/report.ts';
import { scenarios } from '../../../tools/bench/scenarios.ts';
import { type ScenarioSummary, summarise } from '../../../tools/bench/summary.ts';
import { makeHoldMeasurement, makeLoadMeasurement, makeResult } from './make.ts';

describe('a summary', () => {
  const rounds: [round: number, direct: number, envoy: number, gateway: number][] = [
    [1, 6, 50, 50],
    [2, 12, 100, 110],
    [3, 5, 40, 48],
  ];
  const measurements: Measurement[] = rounds.flatMap(([round, direct, envoy, gateway]) => [
    makeLoadMeasurement({ round, target: 'direct', cpuUsPerUnit: direct, unitsPerSecond: 1000 }),
    makeLoadMeasurement({ round, target: 'envoy', cpuUsPerUnit: envoy, unitsPerSecond: 400 }),
    makeLoadMeasurement({
      round,
      target: 'gateway',
      cpuUsPerUnit: gateway,
      client: makeResult({ latencyMs: { count: 1, mean: 2, p50: 1.5, p99: round * 4, max: 99 } }),
    }),
  ]);
  const chosen = scenarios.filter((scenario) => scenario.name === 'unary-1k');
  const summary = summarise(chosen, ['direct', 'envoy', 'gateway'], measurements);

  test('compares CPU by the median of the rounds’ ratios', () => {
    const row = loadRow(summary.scenarios[0], 'gateway');
    expect(row?.cpuUsPerUnit).toEqual({ median: 50, min: 48, max: 110 });
    expect(row?.cpuRatio.envoy).toBeCloseTo(1.1);
    expect(row?.cpuRatio.nginx).toBeUndefined();
  });

  test('reports the added latency against the direct run of the same round', () => {
    const row = loadRow(summary.scenarios[0], 'gateway');
    expect(row?.addedP50Ms).toBe(0.5);
    expect(row?.addedP99Ms).toBe(6);
    expect(loadRow(summary.scenarios[0], 'direct')?.addedP99Ms).toBeUndefined();
  });

  test('says so when client or mock may be the limit', () => {
    expect(summary.scenarios[0]?.notes.join()).toContain(
      'Client or mock limits envoy: direct is only 2.5 times as fast',
    );
    expect(summary.scenarios[0]?.notes.join()).not.toContain('limits gateway');
  });

  test('says when another process used the proxy’s core, or threads took their CPU with them', () => {
    const disturbed = [makeLoadMeasurement({ proxyCoreBusy: 0.9, coresUsed: 0.5, threadsEnded: 1 })];
    const notes = summarise(chosen, ['gateway'], disturbed).scenarios[0]?.notes.join('\n');
    expect(notes).toContain('Another process used');
    expect(notes).toContain('Threads ended');
  });

  test('leaves broken measurements out', () => {
    const broken = makeLoadMeasurement({
      round: 4,
      cpuUsPerUnit: 1,
      client: makeResult({ bad: 2, badReasons: { status: 2 }, firstBad: '503' }),
    });
    expect(whyBroken(broken)).toBe('2 bad answers (2 status); the first began: 503');
    expect(whyBroken(makeLoadMeasurement({ client: makeResult({ good: 0 }) }))).toBe('not one good answer');
    expect(whyBroken(makeHoldMeasurement({ client: makeResult({ lost: 1 }) }))).toContain('1 streams ended');
    expect(whyBroken(makeHoldMeasurement({}))).toBeUndefined();
    const row = loadRow(summarise(chosen, ['gateway'], [...measurements, broken]).scenarios[0], 'gateway');
    expect(row?.cpuUsPerUnit?.min).toBe(48);
  });

  test('reports the cost of translation against pass-through of the same target and round', () => {
    const names = ['sse-burst-100', 'sse-burst-messages'];
    const both = scenarios.filter((scenario) => names.includes(scenario.name));
    const costs: [round: number, passThrough: number, translated: number][] = [
      [1, 10, 14],
      [2, 20, 30],
      [3, 10, 40],
      // Without its pass-through a round says nothing.
      [4, Number.NaN, 90],
    ];
    const measured = costs.flatMap(([round, passThrough, cpuUsPerUnit]) => [
      makeLoadMeasurement({
        round,
        scenario: 'sse-burst-100',
        cpuUsPerUnit: passThrough,
        client: makeResult(Number.isNaN(passThrough) ? { bad: 1 } : {}),
      }),
      makeLoadMeasurement({ round, scenario: 'sse-burst-messages', cpuUsPerUnit }),
    ]);
    const { scenarios: summaries, judgements } = summarise(both, ['envoy', 'gateway'], measured);
    const passThrough = loadRow(summaries[0], 'gateway');
    expect(passThrough?.cpuUsPerUnit?.median).toBe(10);
    expect(passThrough?.cpuRatio['pass-through']).toBeUndefined();
    expect(loadRow(summaries[1], 'gateway')?.cpuRatio['pass-through']).toBe(1.5);
    expect(loadRow(summaries[1], 'envoy')).toBeUndefined();
    const verdicts = judgements.filter((one) => one.scenario === 'sse-burst-messages');
    expect(verdicts.map(({ level, measured, verdict }) => [level, measured, verdict])).toEqual([
      ['gate', 1.5, 'pass'],
      ['goal', 1.5, 'miss'],
    ]);
    const page = writeReport({ ...makeReport(), summary: { scenarios: summaries, judgements } });
    expect(page).toContain('| target | events/s | CPU µs/event (min..max) | × sse-burst-100 | latency p50');
    expect(page).toContain('| gateway | 100 | 35.0 (14.0..90.0) | 1.50 |');
    expect(page).toContain('| gate | sse-burst-messages | CPU, × pass-through ≤ 1.5 | 1.50 | pass |');
  });

  test('judges the gateway', () => {
    const verdicts = summary.judgements.filter((one) => one.scenario === 'unary-1k');
    expect(verdicts.map(({ level, limit, verdict }) => [level, limit.kind, verdict])).toEqual([
      ['gate', 'cpu-ratio', 'not measured'],
      ['gate', 'cpu-ratio', 'pass'],
      ['goal', 'cpu-ratio', 'miss'],
    ]);
  });

  test('becomes a page with machine, versions, tables, broken targets and gates', () => {
    const hold = scenarios.filter((scenario) => scenario.name === 'hold-waiting');
    const page = writeReport({
      ...makeReport(),
      summary: summarise(
        [...chosen, ...hold],
        ['envoy', 'gateway'],
        [...measurements, makeHoldMeasurement({})],
      ),
      broken: [{ target: 'nginx', scenario: 'unary-1k', round: 2, why: '1 bad answer' }],
    });
    expect(page).toContain('Test CPU, 2 cores');
    expect(page).toContain('- envoy: Envoy 1.40.0');
    expect(page).toContain('| gateway | 100 | 50.0 (48.0..110.0) | - | 1.10 | - |');
    expect(page).toContain('| gateway | 16.0 (16.0..16.0) | 100 | 116 |');
    expect(page).toContain('- nginx, unary-1k, round 2: 1 bad answer');
    expect(page).toContain('| goal | unary-1k | CPU, × envoy ≤ 1 | 1.10 | **miss** |');
  });
});

function makeReport(): Omit<ReportInput, 'summary'> {
  return {
    date: '2026-11-01T10:00',
    machine: {
      cpu: 'Test CPU',
      cores: 2,
      memoryGib: 4,
      kernel: 'Linux 6',
      node: 'v26',
      compiler: 'gcc',
      commit: 'abc',
    },
    versions: { envoy: 'Envoy 1.40.0' },
    rounds: 3,
    windowSeconds: 3,
    warmSeconds: 6,
    isQuick: false,
    broken: [],
  };
}

function loadRow(summary: ScenarioSummary | undefined, target: string) {
  return summary?.kind === 'load' ? summary.rows.find((row) => row.target === target) : undefined;
}
