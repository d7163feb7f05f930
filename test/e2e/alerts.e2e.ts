// Do alerts ring when they should, and only then? Prometheus' own engine over numbers of an hour, one a minute.

import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { RELEASE_NAMESPACE, render } from '../charts/helm.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';
import { goProgram } from '../support/go-tool.ts';

interface Series {
  readonly metric: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** By the minute, from 0 on. */
  readonly value: (minute: number) => number;
}

const minutes = 60;
const ruleSchema = z.looseObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
});
const specSchema = z.looseObject({
  spec: z.looseObject({ groups: z.array(z.looseObject({ rules: z.array(ruleSchema) })) }),
});
const answerSchema = z.array(z.object({ minutes: z.array(z.int()) }));

const plane = useControlPlane({ hasControllers: false });
let rules: readonly z.infer<typeof ruleSchema>[];
let program: string;

beforeAll(async () => {
  const objects = await render(plane(), { monitoring: { rules: { enabled: true } } });
  const { spec } = specSchema.parse(objects.find(({ kind }) => kind === 'PrometheusRule'));
  rules = spec.groups.flatMap((group) => group.rules);
  const folder = fileURLToPath(new URL('../support/rule-checker/', import.meta.url));
  program = await goProgram({ name: 'rule-checker', folder });
}, 20 * 60_000);

/** The first minute in which it rings; undefined where it never does. */
async function ringsAt(alert: string, series: readonly Series[]): Promise<number | undefined> {
  const rule = rules.find((one) => one.alert === alert);
  if (rule === undefined) throw new Error(`the chart has no alert ${alert}`);
  const [, part = ''] = /^penstock_(operator|ledger)_/.exec(series[0]?.metric ?? '') ?? [];
  const pod = `penstock-${part || 'gateway'}-0`;
  const asked = {
    minutes,
    expr: rule.expr,
    series: series.map(({ metric, labels, value }) => ({
      labels: { __name__: metric, namespace: RELEASE_NAMESPACE, pod, ...labels },
      values: Array.from({ length: minutes + 1 }, (_, minute) => value(minute)),
    })),
  };
  const said = await run(program, ['-answer'], { stdin: JSON.stringify(asked) });
  expect([said.code, said.stderr]).toEqual([0, '']);
  const [, lasts = '0'] = /^(\d+)m$/.exec(rule.for ?? '0m') ?? [];
  const rings = answerSchema.parse(JSON.parse(said.stdout)).flatMap((one) => {
    const held = new Set(one.minutes);
    const first = one.minutes.find((minute) =>
      Array.from({ length: Number(lasts) + 1 }, (_, back) => minute - back).every((at) => held.has(at)),
    );
    return first ?? [];
  });
  return rings.length === 0 ? undefined : Math.min(...rings);
}

const model = { model: 'chat' };
const requests: Series = {
  metric: 'penstock_requests_total',
  labels: { ...model, endpoint: '/chat/completions', status: '200' },
  value: (minute) => minute * 60,
};
const failovers = (provider: string, value: Series['value']): Series => ({
  metric: 'penstock_failovers_total',
  labels: { ...model, provider, failure: 'status_500' },
  value,
});
const exhausted = (value: Series['value']): Series => ({ metric: 'penstock_operator_exhausted_keys', value });
const lag = (value: Series['value']): Series => ({ metric: 'penstock_ledger_lag_seconds', value });
const leads = (value: Series['value']): Series => ({ metric: 'penstock_ledger_leads', value });
const unavailable = (value: Series['value']): Series => ({
  metric: 'penstock_unavailable_requests_total',
  labels: { ...model, reason: 'NoUsableTarget' },
  value,
});
const ends = (end: string, value: Series['value']): Series => ({
  metric: 'penstock_stream_end_total',
  labels: { provider: 'p/a', end },
  value,
});
const untaken = (value: Series['value']): Series => ({
  metric: 'penstock_ledger_events_untaken_seconds',
  value,
});

test.each<readonly [alert: string, when: string, series: readonly Series[]]>([
  [
    'PenstockFailoverStorm',
    'every third request moves on, from one upstream or another',
    [requests, failovers('p/a', (minute) => minute * 10), failovers('p/b', (minute) => minute * 10)],
  ],
  ['PenstockRouteOut', 'callers ask for a model that is out', [unavailable((minute) => minute)]],
  [
    'PenstockStreamsBreak',
    'one stream in ten breaks',
    [ends('complete', (minute) => minute * 9), ends('truncated', (minute) => minute)],
  ],
  ['PenstockBudgetsUsedUp', 'a budget of a key is used up', [exhausted((minute) => (minute < 20 ? 0 : 1))]],
  [
    'PenstockLedgerBehind',
    'a journal is not read to its end',
    [lag((minute) => minute * 60), leads(() => 1)],
  ],
  ['PenstockLedgerBehind', 'the ledger says nothing at all', [requests]],
  ['PenstockLedgerBehind', 'no ledger leads', [lag(() => 0), leads(() => 0)]],
  [
    'PenstockLedgerEventsNotTaken',
    'the receiver has taken nothing for over a quarter of an hour, however seldom it is asked',
    [untaken((minute) => minute * 60)],
  ],
])('%s fires if %s', async (alert, _, series) => {
  expect(await ringsAt(alert, series)).toBeGreaterThan(0);
});

test('PenstockRouteOut fires within five minutes of a delete that takes a model out of service', async () => {
  const seen = await ringsAt('PenstockRouteOut', [unavailable((minute) => Math.max(0, minute - 20) * 2)]);
  expect(seen).toBeGreaterThanOrEqual(22);
  expect(seen).toBeLessThanOrEqual(25);
});

test.each<readonly [alert: string, where: string, series: readonly Series[]]>([
  [
    'PenstockFailoverStorm',
    'one request in twenty moves on',
    [requests, failovers('p/a', (minute) => minute * 3)],
  ],
  [
    'PenstockFailoverStorm',
    'an upstream is away for five minutes',
    [requests, failovers('p/a', (minute) => Math.min(Math.max(0, minute - 20), 5) * 60)],
  ],
  [
    'PenstockRouteOut',
    'one request asked for the model, and no other',
    [unavailable((minute) => (minute < 20 ? 3 : 4))],
  ],
  [
    'PenstockStreamsBreak',
    'clients go away',
    [ends('complete', (minute) => minute * 5), ends('cancelled', (minute) => minute * 5)],
  ],
  ['PenstockBudgetsUsedUp', 'all budgets have money left', [exhausted(() => 0)]],
  [
    'PenstockLedgerBehind',
    'it catches up within a minute',
    [lag((minute) => (minute === 20 ? 50 : 0)), leads(() => 1)],
  ],
  [
    'PenstockLedgerEventsNotTaken',
    'the receiver takes something every ten minutes',
    [untaken((minute) => (minute % 10) * 60)],
  ],
])('%s does not fire if %s', async (alert, _, series) => {
  expect(await ringsAt(alert, series)).toBeUndefined();
});
