// Does what the guides name exist? Conditions and reasons, metrics, values of the chart.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { CONDITIONS, REASONS } from '../../core/catalog/conditions.ts';
import { describeWelcome } from '../../local/welcome.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const guides = readdirSync(join(root, 'docs/guides'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/guides/${name}`);

const providers = readdirSync(join(root, 'docs/providers')).map((name) => `docs/providers/${name}`);

describe('the guide by condition', () => {
  /** These say that nothing is wrong; there is nothing to do. */
  const good = [
    'Accepted',
    'ResolvedRefs',
    'SecretCreated',
    'Imported',
    'Healthy',
    'CredentialsExchanged',
    'Priced',
    'Programmed',
  ];
  const chapter = read('docs/guides/troubleshooting.md').split('## By condition')[1]?.split('\n## ')[0] ?? '';
  const [overview = '', ...sections] = chapter.split('\n### ');

  test('has a row for every condition', () => {
    expect(new Set(namesIn(overview))).toEqual(new Set(Object.keys(CONDITIONS)));
  });

  test('has a row for every reason that asks for something, and for no other', () => {
    const reported = new Set(sections.flatMap(namesIn));
    const missing = Object.keys(REASONS).filter((reason) => !reported.has(reason) && !good.includes(reason));
    // These two have one reason each, and stand in the overview.
    expect(missing).toEqual(['NearExpiry', 'BudgetExhausted']);
    expect([...reported].filter((name) => !Object.hasOwn(REASONS, name))).toEqual([]);
  });
});

test('the quickstart shows the summary that the terminal prints', () => {
  const models = ['penstock/small', 'penstock/failover'];
  const printed = describeWelcome({
    url: 'http://127.0.0.1:8080',
    baseUrl: 'http://127.0.0.1:8080/v1',
    models,
    manifestsFolder: 'manifests',
    snippetsFile: '.penstock/snippets.txt',
    simulatorUrl: 'http://127.0.0.1:9100',
    metricsUrl: 'http://127.0.0.1:9090',
    dashboard: { link: 'http://127.0.0.1:8081/#token=…' },
    example: {
      apiKey: 'default/quickstart',
      key: 'psk_…',
      model: 'penstock/small',
      offersMessages: true,
      models,
    },
    warning: undefined,
  });
  const summary = printed.slice(
    printed.indexOf('Penstock serves'),
    printed.indexOf('\n             (works once'),
  );
  expect(read('docs/guides/quickstart.md')).toContain(`\n${summary}\n`);
});

test('every metric that a guide names is in the list of metrics', () => {
  const listed = read('docs/metrics.md');
  const named = guides.flatMap((path) =>
    [...read(path).matchAll(/`(penstock_\w+)`/g)].map(([, name]) => name),
  );
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !listed.includes(`| \`${name}\` |`))).toEqual([]);
});

test('every chart value that a guide names exists', () => {
  const values: unknown = parse(read('charts/penstock/values.yaml'));
  const words = guides.flatMap((path) =>
    [...read(path).matchAll(/(?:`|--set '?)([a-z]\w+(?:\.\w+)+)/g)].map(([, word = '']) => word.split('.')),
  );
  const named = words.filter(([first = '']) => member(values, first) !== undefined);
  expect(named.length).toBeGreaterThan(15);
  const unknown = named.filter((path) => path.reduce<unknown>(member, values) === undefined);
  expect(unknown.map((path) => path.join('.'))).toEqual([]);
});

test('the commands that check a cloud identity ask for the Provider without keys that the guide makes', () => {
  const guide = read('docs/guides/cloud-identities.md');
  const made = [...guide.matchAll(/```yaml\n(.*?)```/gs)]
    .flatMap(([, text = '']) => parseAllDocuments(text).map((document) => document.toJS()))
    .filter(({ kind, spec }) => kind === 'Provider' && spec.auth.keys === undefined)
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  const asked = [...guide.matchAll(/^kubectl (?:get|wait) .*/gm)].map(([line]) => {
    const [, namespace] = / -n (\S+)/.exec(line) ?? [];
    const [, name] = / provider[ /](\S+)/.exec(line) ?? [];
    return `${namespace}/${name}`;
  });
  expect(asked.length).toBeGreaterThan(1);
  expect(asked.filter((one) => !made.includes(one))).toEqual([]);
});

test('no command upgrades with --reuse-values, which leaves out new values of the new chart', () => {
  const commands = guides.flatMap((path) =>
    [...read(path).matchAll(/^helm upgrade .*/gm)].map(([line]) => `${path}: ${line}`),
  );
  expect(commands.length).toBeGreaterThan(2);
  expect(commands.filter((line) => /--reuse-values/.test(line))).toEqual([]);
});

/** Of the table of alerts: an expression as Prometheus gets it, without the release and its pods. */
function rowOf(rule: string): string {
  const [name = ''] = rule.split('\n');
  const [, text = ''] = /expr: (?:[|>]-)?(.*?)\n {10}(?:for|labels):/s.exec(rule) ?? [];
  const expression = text
    .replaceAll(/\{namespace=.*?-\.\*"\}/g, '')
    .replaceAll(/\{ \{\{-? \$\w+ -?\}\} ?(?:,| ,)?/g, '{')
    .replaceAll(/\{ ?\}/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .trim();
  const [, severity] = /severity: (\w+)/.exec(rule) ?? [];
  const [, duration = '-'] = /\n {10}for: (\w+)/.exec(rule) ?? [];
  return `| [${name}](#${name.toLowerCase()}) | ${severity} | \`${expression}\` | ${duration} |`;
}

describe('runbooks', () => {
  const rules = read('charts/penstock/templates/prometheus-rule.yaml');
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  const sections = read('docs/guides/observe.md').split('\n## Runbooks')[1]?.split('\n### ').slice(1) ?? [];

  test('every alert of the chart has a runbook, and every runbook an alert', () => {
    expect(sections.map((section) => section.split('\n')[0])).toEqual(alerts);
    expect(alerts.length).toBeGreaterThan(40);
  });

  test('every alert has a row with its severity, its expression and its duration', () => {
    const rows = rules.split('- alert: ').slice(1).map(rowOf);
    const table = read('docs/guides/observe.md')
      .split('\n')
      .filter((line) => line.startsWith('| [Penstock'));
    expect(table).toEqual(rows);
  });

  test('every alert links to its own', () => {
    const links = [...rules.matchAll(/runbook_url: \{\{ printf "%s#(\w+)" \$runbooks/g)].map(
      ([, anchor]) => anchor,
    );
    expect(links).toEqual(alerts.map((name) => name.toLowerCase()));
  });
});

test.each([...guides, ...providers, 'README.md', 'docs/compatibility.md', 'docs/api-stability.md'])(
  'no line of prose in %s is longer than 100 columns',
  (path) => {
    const prose = read(path).replaceAll(/^```.*?^```/gms, '');
    expect(prose.split('\n').filter((line) => line.length > 100 && !/^(\||!\[)/.test(line))).toEqual([]);
  },
);

test('every resource field that a guide names exists', () => {
  const fields = new Set(
    [...read('docs/api.md').matchAll(/^\| `((?:spec|status)[\w.[\]]*)`/gm)].map(([, field]) => field),
  );
  const named = [...guides, ...providers].flatMap((path) =>
    [...read(path).matchAll(/`((?:spec|status)(?:\.\w+(?:\[\])?)+)`/g)].map(([, field]) => field),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((field) => !fields.has(field))).toEqual([]);
});

test.each([
  ['a watch was interrupted', 'operator/start.ts'],
  ['internal TLS certificates cannot be renewed', 'operator/certificates/keeper.ts'],
  ['a ledger record was not acknowledged', 'gateway/meter/unacknowledged.ts'],
  ['a sign-in by the issuer failed', 'dashboard/routes/oidc.ts'],
  ['the store is slower than it could be', 'ledger/main.ts'],
])('the log line "%s" that a guide quotes is a line of %s', (line, source) => {
  expect(read(source)).toContain(line);
  expect(guides.filter((path) => read(path).replaceAll(/\s+/g, ' ').includes(line))).not.toEqual([]);
});

/** The names in the first column of all tables. */
function namesIn(text: string): string[] {
  const cells = [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell = '']) => cell.split('`:')[0] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/(?<=^|, )`([A-Z]\w+)/g)].map(([, name = '']) => name));
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
