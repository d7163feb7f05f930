// What does each part of the gateway cost? Whether what is switched on is at work, and what the rounds say of it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findIdle, type Seen, sumOf } from '../../../tools/bench/parts/at-work.ts';
import {
  baseNames,
  environmentOf,
  type Feature,
  parts,
  tableWith,
} from '../../../tools/bench/parts/parts.ts';
import { type PartsReport, summariseParts, writePartsReport } from '../../../tools/bench/parts/report.ts';
import { scenarios } from '../../../tools/bench/scenarios.ts';
import { readSettings } from '../../../tools/bench/settings.ts';
import { benchTable } from '../../../tools/bench/targets/gateway.ts';
import { makeLoadMeasurement } from './make.ts';

const allFeatures: readonly Feature[] = [
  'limits',
  'limit-store',
  'budgets',
  'journal',
  'ledger',
  'metrics',
  'collection',
  'traces',
];
const around = { limitStoreUrl: 'redis://127.0.0.1:1', collectorUrl: 'http://127.0.0.1:2/x' };

describe('the parts', () => {
  const featuresOf = (name: string) => parts.find((part) => part.name === name)?.features;

  test('are reported against two gateways without them', () => {
    expect(baseNames.map(featuresOf)).toEqual([[], []]);
  });

  test('have unique names, and every feature is in one of them', () => {
    expect(new Set(parts.map(({ name }) => name)).size).toBe(parts.length);
    expect(new Set(parts.flatMap(({ features }) => features))).toEqual(new Set(allFeatures));
  });

  test('change nothing of the table but limits and budgets', () => {
    const table = benchTable(9100, ['unary']);
    const others = allFeatures.filter((feature) => feature !== 'limits' && feature !== 'budgets');
    expect(tableWith(table, others)).toEqual(table);
  });

  test('limit the key, the route, the provider and the key of the provider', () => {
    const { keys, routes, providers } = tableWith(benchTable(9100, ['unary']), ['limits']);
    const limited = [keys[0], routes[0], providers[0], providers[0]?.keys[0]];
    expect(limited.map((entry) => Object.keys(entry?.limits ?? {}).length)).toEqual([3, 3, 3, 3]);
    expect([keys[0]?.budgets, keys[1]?.limits]).toEqual([undefined, undefined]);
  });

  test('budget the key and its namespace', () => {
    const { keys, settings, routes } = tableWith(benchTable(9100, ['unary']), ['budgets']);
    expect(keys[0]?.budgets?.map(({ period }) => period)).toEqual(['Day', 'Month']);
    expect(settings.tenantBudgets?.map(({ namespace }) => namespace)).toEqual(['bench']);
    expect([keys[0]?.limits, routes[0]?.limits]).toEqual([undefined, undefined]);
  });

  test('send nothing anywhere and ask no store unless that is their feature', () => {
    expect(environmentOf(['limits', 'budgets', 'journal', 'ledger', 'metrics'], around)).toEqual({
      PENSTOCK_BENCH_FEATURES: 'limits,budgets,journal,ledger,metrics',
    });
    expect(environmentOf(['limit-store'], around)).toMatchObject({
      PENSTOCK_LIMITS_STORE_URL: around.limitStoreUrl,
    });
    expect(environmentOf(['collection'], around)).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: around.collectorUrl,
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_TRACES_EXPORTER: 'none',
    });
    expect(environmentOf(['traces'], around)).toMatchObject({
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    });
  });
});

describe('a part at work', () => {
  const signOf: Readonly<Record<Feature, keyof Seen>> = {
    limits: 'held',
    budgets: 'held',
    'limit-store': 'storeCalls',
    journal: 'journalBytes',
    ledger: 'stored',
    metrics: 'requests',
    collection: 'metricExports',
    traces: 'traceExports',
  };
  const nothing: Seen = {
    held: 0,
    storeCalls: 0,
    journalBytes: 0,
    stored: 0,
    requests: 0,
    metricExports: 0,
    traceExports: 0,
  };

  test('shows by its sign, and any sign that is missing or too many is reported', () => {
    const featuresArbitrary = fc.subarray([...allFeatures]);
    const signArbitrary = fc.constantFrom(...new Set(Object.values(signOf)));
    fc.assert(
      fc.property(featuresArbitrary, signArbitrary, fc.integer({ min: 1 }), (features, sign, count) => {
        const seen = { ...nothing, ...Object.fromEntries(features.map((each) => [signOf[each], count])) };
        expect(findIdle(features, seen)).toEqual([]);
        const turned = { ...seen, [sign]: seen[sign] > 0 ? 0 : count };
        expect(findIdle(features, turned)).toEqual([expect.stringContaining(`${sign} is ${turned[sign]}`)]);
      }),
    );
  });

  test('has its metric summed over all labels, and no other of a longer name', () => {
    const text = '# HELP a_total x\na_total{l="1 2"} 3\na_total{l="b"} 4\na_total_more 8\nb 5\n';
    expect([sumOf(text, 'a_total'), sumOf(text, 'b'), sumOf(text, 'c')]).toEqual([7, 5, 0]);
  });
});

describe('the page of parts', () => {
  const loads = scenarios.filter((each) => each.kind === 'load').filter(({ name }) => name === 'unary-1k');
  const figures = { off: [100, 200, 50], 'off, again': [100, 220, 50], limits: [110, 252, 60] };
  const measurements = Object.entries(figures).flatMap(([part, rounds]) =>
    rounds.map((cpuUsPerUnit, i) => ({ ...makeLoadMeasurement({ round: i + 1, cpuUsPerUnit }), part })),
  );
  const chosen = parts.filter(({ name }) => name in figures);
  const summaries = summariseParts(loads, chosen, measurements);
  const report: PartsReport = {
    date: '2026-01-01T00:00',
    machine: { cpu: 'x', cores: 2, memoryGib: 1, kernel: 'x', node: 'x', compiler: 'x', commit: 'x' },
    store: undefined,
    rounds: 3,
    windowSeconds: 1,
    warmSeconds: 1,
    isQuick: false,
    parts: chosen,
    summaries,
    broken: [],
  };

  test('compares each part with the mean of both off-runs of the same round', () => {
    const rowOf = (name: string) => summaries[0]?.rows.find(({ part }) => part === name);
    expect(rowOf('limits')?.cpuRatio?.median).toBeCloseTo(1.2);
    expect(rowOf('limits')?.cpuRatio?.min).toBeCloseTo(1.1);
    expect(rowOf('limits')?.addedCpuUs).toEqual({ median: 10, min: 10, max: 42 });
    expect(rowOf('off, again')?.cpuRatio?.max).toBeCloseTo(220 / 210);
    expect(writePartsReport(report)).toContain(
      '| limits | 110.0 (60.0..252.0) | 1.200 (1.100..1.200) | 10.0 (10.0..42.0) |',
    );
  });

  test('leaves out a round without a measurement of both', () => {
    const lost = measurements.filter(({ part, round }) => !(part === 'off, again' && round === 3));
    const [summary] = summariseParts(loads, chosen, lost);
    const limits = summary?.rows.find(({ part }) => part === 'limits');
    expect(limits?.cpuRatio?.max).toBeCloseTo(1.2);
    expect(limits?.addedCpuUs).toEqual({ median: 26, min: 10, max: 42 });
    expect(limits?.rounds).toBe(3);
  });

  test('says what was left out, and what does not count', () => {
    const broken = [{ part: 'traces', why: 'traces switched on, and traceExports is 0' }];
    const page = writePartsReport({ ...report, broken, isQuick: true });
    expect(page).toContain('limits in a store were not measured');
    expect(page).toContain('- traces: traces switched on');
    expect(page).toContain('figures mean little');
    expect(writePartsReport({ ...report, store: 'Redis 7' })).toContain('The store of limits: Redis 7.');
    expect(writePartsReport(report)).not.toContain('Broken');
  });
});

describe('--parts', () => {
  const read = (...argv: string[]) => {
    const invocation = readSettings(['--parts', ...argv], { PATH: '/bin', HOME: '/somewhere/else' });
    return invocation.kind === 'run' ? invocation.settings : undefined;
  };

  test('means the gateway under one load of each kind', () => {
    expect(read()).toMatchObject({ isParts: true, targets: ['gateway'], rounds: 5, windowSeconds: 1.2 });
    expect(read()?.scenarios.map(({ name }) => name)).toEqual(['unary-1k', 'sse-burst']);
    expect(read('--scenarios', 'sse-burst')?.scenarios).toHaveLength(1);
  });

  test.each([
    [['--targets', 'envoy'], '--parts measures the gateway alone'],
    [['--scenarios', 'unary-1k-limits'], "'unary-1k-limits' is none of unary-1k, sse-burst"],
  ])('refuses %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(message);
  });
});
