// Twelve mistakes of a user, each with the words of the object, the time until they are there, and the answer to a caller.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { freePort } from '../cluster/free-port.ts';
import { askGateway, type Said } from '../flow/cluster/ask.ts';
import { type GatewayProcess, useInstallation } from '../flow/cluster/installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  modelRoute,
  namespaceOf,
  provider,
} from '../flow/cluster/manifests.ts';
import { until } from '../support/until.ts';

const installation = useInstallation({ operators: 1, gateways: 1, hasLedger: true });
let upstream: Simulator;
const rows: string[] = [];
const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
});
const objectSchema = z.object({
  status: z.object({ conditions: z.array(conditionSchema).optional() }).optional(),
});
type Condition = z.infer<typeof conditionSchema>;

beforeAll(async () => {
  upstream = await startSimulator();
  const { apply, awaitCondition } = installation();
  await apply(
    namespaceOf('team-a'),
    namespaceOf('team-b'),
    namespaceOf('platform'),
    credentialSecret('team-a', 'good', upstream.url, 'sk-good'),
    provider('team-a', 'good', upstream.url, 'good'),
    modelRoute('team-a', 'served', ['good']),
    importedApiKey('team-a', 'caller'),
    importedApiKey('team-a', 'with-budget', { budgets: [{ period: 'Day', limit: '1.00' }] }),
  );
  for (const ref of ['modelroute/served', 'apikey/caller', 'apikey/with-budget'])
    await awaitCondition(ref, 'Programmed', 'team-a');
});

afterAll(async () => {
  await upstream.close();
  process.stdout.write(
    `\n| mistake | the object says | after | the caller gets |\n| --- | --- | --- | --- |\n`,
  );
  process.stdout.write(`${rows.join('\n')}\n`);
});

interface Mistake {
  readonly name: string;
  readonly objects: (origin: string) => readonly object[];
  /** Of the object whose condition says so. Default `team-a`. */
  readonly namespace?: string;
  /** That object, such as `provider/x`. */
  readonly ref: string;
  readonly type: string;
  /** In the message of the condition. */
  readonly says: RegExp;
  readonly reason: RegExp;
  /** Of a model that the caller asks for. */
  readonly model?: string;
  readonly key?: string;
  readonly answer?: { readonly status: number; readonly says: RegExp };
}

const withKeyOf = (name: string, secret: string, origin: string, spec: object = {}) => [
  provider('team-a', name, origin, secret, spec),
  modelRoute('team-a', name, [name]),
];
const unlabelled = (origin: string) => {
  const secret = credentialSecret('team-a', 'unlabelled', origin, 'sk-unlabelled');
  return { ...secret, metadata: { namespace: 'team-a', name: 'unlabelled' } };
};

const unavailable = { status: 503, says: /model_unavailable/ };
const mistakes: readonly Mistake[] = [
  {
    name: 'the Secret does not exist',
    objects: (origin) => withKeyOf('no-secret', 'absent', origin),
    ref: 'provider/no-secret',
    type: 'ResolvedRefs',
    reason: /SecretNotFound/,
    says: /absent/,
    model: 'no-secret',
    answer: unavailable,
  },
  {
    name: 'the Secret is not labelled',
    objects: (origin) => [unlabelled(origin), ...withKeyOf('unlabelled', 'unlabelled', origin)],
    ref: 'provider/unlabelled',
    type: 'ResolvedRefs',
    reason: /SecretNotOptedIn/,
    says: /run: kubectl -n team-a label /,
    model: 'unlabelled',
    answer: unavailable,
  },
  {
    name: 'the host is not in the annotation',
    objects: (origin) => [
      credentialSecret('team-a', 'elsewhere', 'https://api.example.com', 'sk-elsewhere'),
      ...withKeyOf('elsewhere', 'elsewhere', origin),
    ],
    ref: 'provider/elsewhere',
    type: 'ResolvedRefs',
    reason: /HostNotAllowed/,
    says: /run: kubectl -n team-a annotate /,
    model: 'elsewhere',
    answer: unavailable,
  },
  {
    name: 'a private address',
    objects: () => [
      credentialSecret('team-a', 'private', 'http://10.20.30.40', 'sk-private'),
      ...withKeyOf('private', 'private', 'http://10.20.30.40'),
    ],
    ref: 'provider/private',
    type: 'ResolvedRefs',
    reason: /EndpointNotAllowed/,
    says: /egress/,
    model: 'private',
    answer: unavailable,
  },
  {
    name: 'a model id that another route holds',
    objects: () => [modelRoute('team-a', 'twice', ['good'], { model: 'served' })],
    ref: 'modelroute/twice',
    type: 'Accepted',
    reason: /ModelConflict/,
    says: /served/,
    model: 'served',
    answer: { status: 200, says: /choices/ },
  },
  {
    name: 'no price, a key with a budget',
    objects: (origin) => [
      credentialSecret('platform', 'shared', origin, 'sk-shared'),
      provider('platform', 'shared', origin, 'shared'),
      modelRoute('platform', 'free', ['shared'], { pricing: undefined, allowedNamespaces: { from: 'All' } }),
    ],
    namespace: 'platform',
    ref: 'modelroute/free',
    type: 'Priced',
    reason: /NoPrice/,
    says: /pricing/,
    model: 'free',
    key: importedKey('team-a', 'with-budget'),
    answer: { status: 404, says: /free/ },
  },
  {
    name: 'the same hash in two keys',
    objects: () => [
      { ...importedApiKey('team-a', 'caller'), metadata: { namespace: 'team-b', name: 'copy' } },
    ],
    namespace: 'team-b',
    ref: 'apikey/copy',
    type: 'Accepted',
    reason: /DigestConflict/,
    says: /./,
    model: 'served',
    answer: { status: 200, says: /choices/ },
  },
  {
    name: 'a disabled key',
    objects: () => [importedApiKey('team-a', 'off', { disabled: true })],
    ref: 'apikey/off',
    type: 'Ready',
    reason: /Disabled/,
    says: /disabled/,
    model: 'served',
    key: importedKey('team-a', 'off'),
    answer: { status: 401, says: /key/ },
  },
  {
    name: 'an expired key',
    objects: () => [importedApiKey('team-a', 'old', { expiresAt: '2020-01-01T00:00:00Z' })],
    ref: 'apikey/old',
    type: 'Ready',
    reason: /PastExpiry|Expired/,
    says: /2020-01-01/,
    model: 'served',
    key: importedKey('team-a', 'old'),
    answer: { status: 401, says: /key/ },
  },
];

for (const mistake of mistakes) {
  test(`${mistake.name}: the object says so with the remedy, and the caller gets an error`, async () => {
    const { apply, gateways } = installation();
    const [gateway] = gateways;
    if (gateway === undefined) throw new Error('no gateway runs');
    const startMs = performance.now();
    await apply(...mistake.objects(upstream.url));
    const condition = await saidOf(mistake);
    const afterMs = performance.now() - startMs;
    let got = '-';
    const { model, answer, key = importedKey('team-a', 'caller') } = mistake;
    if (model !== undefined && answer !== undefined) {
      const { status, text } = await answered(gateway, key, model, (said) => said.status === answer.status);
      expect(text).toMatch(answer.says);
      got = `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`;
    }
    expect(condition.message).toMatch(mistake.says);
    row(mistake.name, `${condition.reason}: ${condition.message}`, afterMs, got);
  });
}

test('a wrong port: one failing call marks the Provider, with the cause', async () => {
  const { apply, gateways } = installation();
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('no gateway runs');
  const origin = `http://127.0.0.1:${await freePort()}`;
  const startMs = performance.now();
  await apply(
    credentialSecret('team-a', 'closed', origin, 'sk-closed'),
    ...withKeyOf('closed', 'closed', origin),
  );
  const caller = importedKey('team-a', 'caller');
  await answered(gateway, caller, 'closed', ({ status }) => status === 502 || status === 503);
  const condition = await saidOf({ ref: 'provider/closed', type: 'Healthy', reason: /./, status: 'False' });
  const afterMs = performance.now() - startMs;
  expect(condition.message).toMatch(/the upstream refuses connections; check/);
  const { status, text } = await askGateway(gateway, caller, 'closed');
  row(
    'a wrong port',
    `${condition.reason}: ${condition.message}`,
    afterMs,
    `${status} ${/"code":"(\w+)"/.exec(text)?.[1]}`,
  );
});

test('a typo in a field or in an enum is refused by the API server', async () => {
  const { plane } = installation();
  for (const [field, spec] of [
    ['baseUrl', { baseUrl: 'https://api.example.com/v1' }],
    ['type', { type: 'OpenAi' }],
  ] as const) {
    const startMs = performance.now();
    const object = provider('team-a', 'typo', upstream.url, 'good', spec);
    const { code, stderr } = await plane.kubectl(['apply', '--filename=-'], {
      stdin: JSON.stringify(object),
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain(field);
    const said = stderr.replaceAll(/\s+/g, ' ').trim();
    row(`a typo in ${field}`, said, performance.now() - startMs, '-');
  }
});

test('a Provider in use cannot be deleted, and the refusal has the remedy', async () => {
  const { plane, gateways } = installation();
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('no gateway runs');
  const startMs = performance.now();
  const { code, stderr } = await plane.kubectl(['delete', 'provider', 'good', '--namespace=team-a']);
  const afterMs = performance.now() - startMs;
  expect(code).not.toBe(0);
  expect(stderr).toContain('deletion-protection');
  const { status } = await askGateway(gateway, importedKey('team-a', 'caller'), 'served');
  expect(status).toBe(200);
  row('a Provider in use is deleted', stderr.replaceAll(/\s+/g, ' ').trim(), afterMs, `${status}`);
});

function row(name: string, said: string, afterMs: number, got: string): void {
  rows.push(`| ${name} | ${said.slice(0, 220)} | ${Math.round(afterMs)} ms | ${got} |`);
}

/** The condition, as soon as it is there with that reason. */
function saidOf(wanted: {
  readonly namespace?: string;
  readonly ref: string;
  readonly type: string;
  readonly reason: RegExp;
  readonly status?: string;
}): Promise<Condition> {
  const { plane } = installation();
  const { ref, namespace = 'team-a' } = wanted;
  const [kind, name] = ref.split('/');
  const path = `/apis/penstock.dev/v1alpha1/namespaces/${namespace}/${kind}s/${name}`;
  return soon(
    async () => objectSchema.parse(await plane.client.call({ method: 'GET', path })).status?.conditions ?? [],
    (conditions) =>
      conditions.find(
        ({ type, reason, status }) =>
          type === wanted.type && wanted.reason.test(reason) && (wanted.status ?? status) === status,
      ),
  );
}

/** The first answer that is as wanted. */
function answered(
  gateway: GatewayProcess,
  key: string,
  model: string,
  isWanted: (said: Said) => boolean,
): Promise<Said> {
  return soon(
    () => askGateway(gateway, key, model),
    (said) => (isWanted(said) ? said : undefined),
  );
}

/**
 * Looks until something is found.
 *
 * @throws after ten seconds, with what was there in its place.
 */
async function soon<T, F>(look: () => Promise<T>, find: (seen: T) => F | undefined): Promise<F> {
  const endMs = performance.now() + 10_000;
  return await until(async () => {
    const seen = await look();
    const found = find(seen);
    if (found === undefined && performance.now() > endMs)
      throw new Error(`not within 10 s; there is ${JSON.stringify(seen)}`);
    return found;
  });
}
