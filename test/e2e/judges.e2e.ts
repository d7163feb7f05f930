// What do the judges of the trade say about the chart? helm lint and kube-score with every set of values, checkov with everything
// switched on that the chart has; what they find is none, or is in judges/exemptions.ts with its reason.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { isRecord } from '../../core/kube/object.ts';
import { dashboards } from '../../deploy/monitoring/dashboards.ts';
import { CHART, helm, render, template } from '../charts/helm.ts';
import { VALUE_SETS } from '../charts/value-sets.ts';
import { useControlPlane } from '../cluster/control-plane.ts';
import { run } from '../cluster/run.ts';
import { goProgram, goTool } from '../support/go-tool.ts';
import { pythonWith } from '../support/python.ts';
import { type Exemption, exemptions } from './judges/exemptions.ts';

const kubeScore = { package: 'github.com/zegl/kube-score/cmd/kube-score', version: 'v1.20.0' };
const checkovPins = ['checkov==3.3.30'];

const everything = {
  demo: { enabled: true },
  dashboard: {
    enabled: true,
    replicas: 2,
    session: { existingSecret: 'dashboard-session' },
    oidc: { issuer: 'https://login.example.com', clientId: 'penstock', existingSecret: 'dashboard-oidc' },
    ingress: { enabled: true, hosts: ['penstock.example.com'], tlsSecretName: 'dashboard-tls' },
  },
  gateway: {
    autoscaling: { type: 'HPA' },
    ingress: { enabled: true, hosts: ['models.example.com'], tlsSecretName: 'models-tls' },
  },
  limits: { store: { url: 'redis://limits.example.com:6379' } },
  monitoring: { scrape: 'ServiceMonitor', rules: { enabled: true }, dashboard: { enabled: true } },
};

interface Finding {
  readonly check: string;
  /** `Kind name`. */
  readonly object: string;
  readonly words: string;
  /** Name of the values with which it was found. */
  readonly set?: string;
}

const plane = useControlPlane({ hasControllers: false });
let folder: string;
let manifest: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-judges-'));
  manifest = join(folder, 'chart.yaml');
  const { code, stdout, stderr } = await template(plane(), everything);
  expect([code, stderr]).toEqual([0, '']);
  await writeFile(manifest, stdout);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Nothing but what is exempt, and every exemption is needed. */
function judge(name: Exemption['judge'], findings: readonly Finding[]): void {
  const mine = exemptions.filter((exemption) => exemption.judge === name);
  const isMet = (exemption: Exemption, { check, object, set = '' }: Finding) =>
    exemption.check === check &&
    (exemption.objects?.includes(object) ?? true) &&
    (exemption.sets?.includes(set) ?? true);
  const open = findings.filter((finding) => !mine.some((exemption) => isMet(exemption, finding)));
  expect(open).toEqual([]);
  const idle = mine.filter((exemption) => !findings.some((finding) => isMet(exemption, finding)));
  expect(idle).toEqual([]);
  const about = new Set(findings.map(({ check }) => check)).size;
  console.info(`${name}: ${findings.length} findings of ${about} kinds, all of them exempt with a reason`);
}

const scored = z.array(
  z.looseObject({
    type_meta: z.looseObject({ kind: z.string() }),
    object_meta: z.looseObject({ name: z.string() }),
    checks: z.array(
      z.looseObject({
        check: z.looseObject({ id: z.string() }),
        grade: z.int(),
        skipped: z.boolean(),
        comments: z.array(z.looseObject({ path: z.string(), summary: z.string() })).nullable(),
      }),
    ),
  }),
);

test.each(VALUE_SETS)('helm lint --strict, with %s', async (_, values) => {
  const { code, stdout } = await helm(plane(), ['lint', '--strict', CHART], values);
  expect([code, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
});

test('kube-score, with every set of values', async () => {
  const program = await goTool(kubeScore);
  const flags = ['score', '--output-format', 'json', '--kubernetes-version', 'v1.34', '-'];
  const findings: Finding[] = [];
  for (const [set, values] of [['everything', everything] as const, ...VALUE_SETS]) {
    const { stdout: rendered } = await template(plane(), values);
    const { stdout } = await run(program, flags, { stdin: rendered });
    const objects = scored.parse(JSON.parse(stdout));
    expect(objects.length).toBeGreaterThan(5);
    for (const { type_meta, object_meta, checks } of objects)
      for (const { check, grade, skipped, comments } of checks)
        if (grade < 10 && !skipped) {
          const words = (comments ?? []).map(({ path, summary }) => `${path}: ${summary}`).join('; ');
          findings.push({ check: check.id, object: `${type_meta.kind} ${object_meta.name}`, words, set });
        }
  }
  judge('kube-score', findings);
});

const checked = z.looseObject({
  results: z.looseObject({
    failed_checks: z.array(
      z.looseObject({ check_id: z.string(), check_name: z.string(), resource: z.string() }),
    ),
  }),
  summary: z.looseObject({ passed: z.int(), parsing_errors: z.int() }),
});

test('checkov', async () => {
  const python = await pythonWith(checkovPins);
  const said = await run(
    python,
    [
      '-m',
      'checkov.main',
      '--file',
      manifest,
      '--framework',
      'kubernetes',
      '--output',
      'json',
      '--compact',
      '--quiet',
      '--skip-download',
    ],
    { cwd: folder, timeoutMs: 300_000 },
  );
  const { results, summary } = checked.parse(JSON.parse(said.stdout));
  expect(summary).toMatchObject({ parsing_errors: 0 });
  expect(summary.passed).toBeGreaterThan(300);
  judge(
    'checkov',
    results.failed_checks.map(({ check_id: check, check_name: words, resource }) => {
      // Such as Deployment.penstock-system.penstock-operator.
      const [kind = '', , name = ''] = resource.split('.');
      return { check, object: `${kind} ${name}`, words };
    }),
  );
});

// A port of Prometheus' own parser.
const promqlPins = ['promql-parser==0.12.0'];
const parseAll = `
import json, sys, promql_parser
for text in json.load(sys.stdin):
    try: promql_parser.parse(text)
    except ValueError as error: print(text, error)
`;

test('every expression of alerts and dashboard is PromQL', async () => {
  const objects = await render(plane(), everything);
  const rules = objects
    .filter(({ kind }) => kind === 'PrometheusRule')
    .flatMap((rule) => textsOf(rule, 'expr'));
  const board = objects.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'penstock-dashboard',
  );
  const { data } = z.looseObject({ data: z.record(z.string(), z.string()) }).parse(board);
  const panels = Object.values(data).flatMap((text) => textsOf(JSON.parse(text), 'expr'));
  expect([rules.length > 10, panels.length > 8]).toEqual([true, true]);
  // Grafana fills these in.
  const texts = [...rules, ...panels].map((text) =>
    text.replaceAll(/\$__rate_interval|\$__range/g, '5m').replaceAll('$namespace', 'penstock-system'),
  );
  const python = await pythonWith(promqlPins);
  const parse = async (list: readonly string[]) =>
    (await run(python, ['-I', '-c', parseAll], { stdin: JSON.stringify(list) })).stdout;
  expect(await parse(['sum(((']), 'it can see a fault').toContain('unclosed');
  expect(await parse(texts)).toBe('');
});

// As `promtool check rules` has it.
const ruleChecker = fileURLToPath(new URL('../support/rule-checker/', import.meta.url));

test(
  'Prometheus itself loads the rules, and parses the queries of the dashboards',
  async () => {
    const program = await goProgram({ name: 'rule-checker', folder: ruleChecker });
    const objects = await render(plane(), everything);
    const rules = objects.find(({ kind }) => kind === 'PrometheusRule');
    const file = join(folder, 'rules.yaml');
    await writeFile(file, JSON.stringify(rules?.spec));
    const checked = await run(program, [file]);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/^\d\d rules\n$/)]);
    await writeFile(file, JSON.stringify(rules?.spec).replace('sum by', 'sum of'));
    expect((await run(program, [file])).code, 'it can see a fault').toBe(1);
    const queries = dashboards
      .flatMap(({ panels }) => panels.flatMap((panel) => panel.queries))
      .map(({ expr }) => expr.replaceAll(/\$__rate_interval|\$__range/g, '5m').replaceAll('$namespace', 'x'));
    expect(queries.length).toBeGreaterThan(30);
    expect(await run(program, [], { stdin: `${queries.join('\n')}\n` })).toMatchObject({
      code: 0,
      stdout: '',
    });
  },
  20 * 60_000,
);

/** Every text under this name, at any depth. */
function textsOf(value: unknown, name: string): string[] {
  if (Array.isArray(value)) return value.flatMap((child) => textsOf(child, name));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === name && typeof child === 'string' ? [child] : textsOf(child, name),
  );
}
