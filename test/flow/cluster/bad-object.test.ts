// Does one object that is wrong harm any other? Among two hundred that are right, in `npm test` fifty, it alone stays out, and says why; the others
// come into service and go on changing as if it were not there.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { listAll } from '../../../core/kube/list.ts';
import { createObject, mergePatch } from '../../../core/kube/patch.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { clusterWaitMs } from '../../cluster/shared.ts';
import { type KStatus, kstatusOf } from '../../support/kstatus.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import { closedPort } from '../../support/wall/closed-port.ts';
import { askGateway } from './ask.ts';
import { describeMs, quantile } from './figures.ts';
import { type Installation, startInstallation } from './installation.ts';
import {
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
} from './manifests.ts';
import { columnsOf, describedBy, eventsOf } from './reported.ts';

const api = '/apis/penstock.dev/v1alpha1/namespaces/team-a';
const plurals = { Provider: 'providers', ModelRoute: 'modelroutes', ApiKey: 'apikeys' } as const;
/** Of each kind, so many that are right. */
const count = runs(100, 4);
const numbers = Array.from({ length: count }, (_, index) => index);

const target = (more: object) => [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel: 'm', ...more }];

/** The schema of Kubernetes takes any parameters. */
const badTargets = { targets: target({ parameters: { messages: [] } }) };
const badWords = 'spec.targets[0].parameters.messages';
const key = importedKey('team-a', 'key-0');

let simulator: Simulator;
let installation: Installation;
/** How long a change of a good route took, from the patch to Programmed, while something was wrong elsewhere. */
const movedMs: number[] = [];

beforeAll(async () => {
  simulator = await startSimulator();
  installation = await startInstallation({ operators: 1, gateways: runs(2) });
  await installation.apply(
    namespaceOf('team-a'),
    credentialSecret('team-a', 'sim', simulator.url, 'sk-one'),
    provider('team-a', 'sim', simulator.url, 'sim'),
  );
  await installation.awaitCondition('provider/sim', 'Ready', 'team-a');
}, clusterWaitMs);

afterAll(async () => {
  console.log(`a good route changed while another object was wrong: ${describeMs(movedMs)}`);
  await installation?.stop();
  await simulator.close();
}, 60_000);

const lookEveryMs = 250;

/** All that are right, with one that is wrong in their midst; once for all tests. */
let applied: Promise<{ readonly applyingMs: number; readonly afterMs: number }> | undefined;

async function applyAll(): Promise<{ readonly applyingMs: number; readonly afterMs: number }> {
  const right = numbers.flatMap((n) => [
    modelRoute('team-a', `route-${n}`, ['sim']),
    importedApiKey('team-a', `key-${n}`),
  ]);
  // In the middle, so that neither what is before it nor what comes after is served by luck.
  const half = right.length / 2;
  const wrong = modelRoute('team-a', 'wrong', [], badTargets);
  const startedMs = performance.now();
  await installation.apply(...right.slice(0, half), wrong, ...right.slice(half));
  const appliedMs = performance.now();
  // Each look reads all of them.
  await until(async () => (await countProgrammed()) >= right.length, lookEveryMs);
  return { applyingMs: appliedMs - startedMs, afterMs: performance.now() - appliedMs };
}

async function countProgrammed(): Promise<number> {
  const lists = await Promise.all(
    (['modelroutes', 'apikeys'] as const).map((plural) =>
      listAll({ client: installation.plane.client, path: `${api}/${plural}` }),
    ),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter(({ status }) => programmedSchema.safeParse(status).success).length;
}

const programmedSchema = z.object({
  conditions: z
    .array(z.object({ type: z.string(), status: z.string() }))
    .refine((all) => all.some(({ type, status }) => type === 'Programmed' && status === 'True')),
});

test(`of ${2 * count + 1} objects applied at once, ${2 * count} serve, and the wrong one says why`, async () => {
  const { awaitCondition, gateways, plane } = installation;
  applied ??= applyAll();
  const [applyingMs, afterMs] = Object.values(await applied).map(Math.round);
  console.log(
    `${2 * count + 1} objects: applied in ${applyingMs} ms, all but one Programmed ${afterMs} ms after that`,
  );
  expect(afterMs).toBeLessThan(15_000);

  await awaitCondition('modelroute/wrong', 'Accepted=false', 'team-a');
  expect(await describedBy(plane, 'modelroute/wrong', 'team-a')).toContain(badWords);
  for (const gateway of gateways) {
    for (const n of numbers) {
      const said = await askGateway(gateway, importedKey('team-a', `key-${n}`), `route-${n}`);
      expect([n, said.status]).toEqual([n, 200]);
    }
    expect((await askGateway(gateway, key, 'wrong')).status).toBe(404);
  }
}, 60_000);

interface Case {
  readonly what: string;
  readonly kind: keyof typeof plurals;
  readonly name: string;
  /** Beside it. */
  readonly before?: () => object[];
  readonly object: () => object;
  /** The condition that fails, its reason, and what its message says: the field, or the thing. */
  readonly condition: string;
  readonly reason: string;
  readonly words: RegExp;
  /** What else it names may still be in flight, so that tools which wait go on waiting for a minute. */
  readonly mayStillCome?: true;
  readonly repair: (at: string) => Promise<unknown>;
}

const patched = (change: object) => (at: string) => mergePatch(installation.plane.client, at, change);

const cases: readonly Case[] = [
  {
    what: 'a ModelRoute with a member that the schema of Kubernetes cannot refuse',
    kind: 'ModelRoute',
    name: 'invalid',
    object: () => modelRoute('team-a', 'invalid', [], badTargets),
    condition: 'Accepted',
    reason: 'Invalid',
    words: /spec\.targets\[0\]\.parameters\.messages: cannot be set here: the caller or the gateway sets it/,
    repair: patched({ spec: { targets: target({}) } }),
  },
  {
    what: 'a ModelRoute whose Provider is missing',
    kind: 'ModelRoute',
    name: 'lost',
    object: () => modelRoute('team-a', 'lost', ['nobody']),
    condition: 'ResolvedRefs',
    reason: 'RefNotFound',
    mayStillCome: true,
    words:
      /target nobody names Provider nobody, which does not exist in namespace team-a; create it, or correct the name/,
    repair: () => installation.apply(provider('team-a', 'nobody', simulator.url, 'sim')),
  },
  {
    what: 'a ModelRoute with the id of an older one',
    kind: 'ModelRoute',
    name: 'late',
    before: () => [modelRoute('team-a', 'holder', ['sim'])],
    object: () => modelRoute('team-a', 'late', ['sim'], { model: 'holder' }),
    condition: 'Accepted',
    reason: 'ModelConflict',
    words: /the model id "holder" belongs to the (older )?ModelRoute team-a\/holder/,
    repair: () => installation.plane.mustKubectl(['delete', 'modelroute', 'holder', '-n', 'team-a']),
  },
  {
    what: 'a ModelRoute that no part of a table can hold',
    kind: 'ModelRoute',
    name: 'vast',
    object: () =>
      modelRoute('team-a', 'vast', [], {
        targets: target({ parameters: { noise: randomBytes(600_000).toString('base64') } }),
      }),
    condition: 'Accepted',
    reason: 'Invalid',
    words: /vast/,
    repair: patched({ spec: { targets: target({}) } }),
  },
  {
    what: 'a Provider whose Secret is missing',
    kind: 'Provider',
    name: 'bare',
    object: () => provider('team-a', 'bare', simulator.url, 'bare'),
    condition: 'ResolvedRefs',
    reason: 'SecretNotFound',
    mayStillCome: true,
    words:
      /spec\.auth\.keys\[main\] names Secret bare, which does not exist in namespace team-a; create it there with the value under its key main/,
    repair: () => installation.apply(credentialSecret('team-a', 'bare', simulator.url, 'sk-two')),
  },
  {
    what: 'a Provider with an option that its type does not know',
    kind: 'Provider',
    name: 'optional',
    object: () => provider('team-a', 'optional', simulator.url, 'sim', { options: { region: 'eu' } }),
    condition: 'Accepted',
    reason: 'UnsupportedValue',
    words: /spec\.options\.region is not known: .*; remove it/,
    repair: patched({ spec: { options: null } }),
  },
  {
    what: 'an ApiKey for the key of an older one',
    kind: 'ApiKey',
    name: 'second',
    object: () => {
      const { spec } = importedApiKey('team-a', 'key-9') as { spec: object };
      return issuedApiKey('team-a', 'second', spec);
    },
    condition: 'Accepted',
    reason: 'DigestConflict',
    words: /already belongs to another ApiKey.*import the SHA-256 of another key/s,
    repair: patched({ spec: { imports: null } }),
  },
  {
    what: 'an ApiKey whose Secret is taken',
    kind: 'ApiKey',
    name: 'taken',
    before: () => [
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'team-a', name: 'taken-key' },
        stringData: { a: 'b' },
      },
    ],
    object: () => issuedApiKey('team-a', 'taken'),
    condition: 'Issued',
    reason: 'SecretTaken',
    words: /Secret taken-key exists and was not written for this ApiKey, so it stays unchanged/,
    repair: () => installation.plane.mustKubectl(['delete', 'secret', 'taken-key', '-n', 'team-a']),
  },
];

describe.concurrent('a wrong object does not block others, is reported once, and is Ready after the repair:', () => {
  test.each(cases)(
    '$what',
    async (wrong) => {
      const { kind, name, before, object, condition, reason, words, repair } = wrong;
      const { apply, awaitCondition, plane } = installation;
      applied ??= applyAll();
      await applied;
      const ref = `${kind}/${name}`;
      if (before !== undefined) await apply(...before());
      await createObject(plane.client, `${api}/${plurals[kind]}`, object());
      await awaitCondition(ref, `${condition}=false`, 'team-a');
      await awaitCondition(ref, 'Ready=false', 'team-a');
      expect(await readingOf(ref)).toBe(wrong.mayStillCome ? 'InProgress' : 'Failed');
      await othersMove();

      const reported = await eventsOf(plane, { kind, namespace: 'team-a', name }, reason);
      expect(reported.filter((event) => event.reason === reason)).toMatchObject([
        { type: 'Warning', note: expect.stringMatching(words) },
      ]);
      expect(await columnsOf(plane, ref, 'team-a')).toMatch(/ False /);
      const described = await describedBy(plane, ref, 'team-a');
      expect(described).toMatch(
        new RegExp(`Reason: +${reason}\\n +Status: +False\\n +Type: +${condition}\\n`),
      );
      expect(described).toMatch(words);
      expect(described).toMatch(new RegExp(`Warning +${reason} `));

      // It is edited, and as wrong as before: that is no news.
      const edited = await mergePatch(plane.client, `${api}/${plurals[kind]}/${name}`, {
        spec: { displayName: 'Edited' },
      });
      await plane.mustKubectl([
        'wait',
        ref,
        '-n',
        'team-a',
        `--for=jsonpath={.status.observedGeneration}=${edited.metadata.generation}`,
        '--timeout=20s',
      ]);
      await othersMove();
      expect(await eventsOf(plane, { kind, namespace: 'team-a', name }, reason)).toEqual(reported);

      await repair(`${api}/${plurals[kind]}/${name}`);
      await awaitCondition(ref, 'Ready', 'team-a');
      expect(await readingOf(ref)).toBe('Current');
      // Now it is news: what was wrong is right, and in service.
      const after = await eventsOf(plane, { kind, namespace: 'team-a', name }, 'Programmed');
      expect(after.filter(({ type }) => type === 'Warning')).toEqual(
        reported.filter(({ type }) => type === 'Warning'),
      );
    },
    60_000,
  );
});

test('a wrong edit keeps the last good form in service, and does not block others', async () => {
  const { awaitCondition, gateways, plane } = installation;
  applied ??= applyAll();
  await applied;
  const name = `route-${half}`;
  const at = `${api}/modelroutes/${name}`;
  const events = { kind: 'ModelRoute', namespace: 'team-a', name };
  await mergePatch(plane.client, at, { spec: badTargets });
  await awaitCondition(`modelroute/${name}`, 'Degraded', 'team-a');
  expect(await describedBy(plane, `modelroute/${name}`, 'team-a')).toContain(badWords);
  await othersMove();
  for (const gateway of gateways) {
    for (const n of [0, half - 1, half, half + 1, count - 1])
      expect((await askGateway(gateway, key, `route-${n}`)).status).toBe(200);
  }
  const reported = await eventsOf(plane, events, 'LastKnownGood');
  expect(reported.filter(({ type }) => type === 'Warning')).toEqual([
    {
      type: 'Warning',
      reason: 'LastKnownGood',
      note: expect.stringContaining(badWords),
      count: 1,
    },
  ]);
  await mergePatch(plane.client, at, { spec: { targets: target({}) } });
  await awaitCondition(`modelroute/${name}`, 'Ready', 'team-a');
  for (const gateway of gateways) expect((await askGateway(gateway, key, name)).status).toBe(200);
}, 60_000);

test('a target that answers no gateway is Unhealthy, and its route stays Ready', async () => {
  const { apply, awaitCondition, gateways, plane } = installation;
  const nobody = await closedPort();
  await apply(
    credentialSecret('team-a', 'dead', nobody.url, 'sk-three'),
    provider('team-a', 'dead', nobody.url, 'dead', { healthCheck: { active: { type: 'Disabled' } } }),
    modelRoute('team-a', 'half', ['dead', 'sim']),
    importedApiKey('team-a', 'half'),
  );
  for (const ref of ['modelroute/half', 'apikey/half']) await awaitCondition(ref, 'Ready', 'team-a');
  for (const gateway of gateways) {
    for (let n = 0; n < 6; n += 1) {
      expect((await askGateway(gateway, importedKey('team-a', 'half'), 'half')).status).toBe(200);
    }
  }
  const unhealthy = 'jsonpath={.status.targets[?(@.name=="dead")].state}=Unhealthy';
  await plane.mustKubectl(['wait', 'modelroute/half', '-n', 'team-a', `--for=${unhealthy}`, '--timeout=20s']);
  expect(await columnsOf(plane, 'modelroute/half', 'team-a')).toMatch(
    /half +half +Listed +Degraded +True +1 +2 /,
  );
  expect(await readingOf('modelroute/half')).toBe('Current');

  // The same on the port of the operator that leads: open breakers, and that every pod runs the table in use.
  const [operator] = installation.operators;
  const open = { provider: 'team-a/dead', state: 'open' };
  const one = { lag: 0, source: 'api', troubles: expect.arrayContaining([expect.objectContaining(open)]) };
  // Each pod is asked in its turn; the first that say it are enough for the status.
  const readTable = async (): Promise<unknown> => (await fetch(`${operator?.metricsUrl}/debug/table`)).json();
  await expect
    .poll(readTable, { timeout: 20_000 })
    .toMatchObject({ isLeader: true, pods: gateways.map(() => one) });
  expect(JSON.stringify(await readTable())).not.toContain('sk-three');
  await nobody.close();
}, 60_000);

test('in the end kstatus reports every object as current, except the wrong one', async () => {
  const readings = await Promise.all(
    Object.values(plurals).map(async (plural) => {
      const { items } = await listAll({ client: installation.plane.client, path: `${api}/${plural}` });
      return items.map((item) => [item.metadata.name, kstatusOf(item)] as const);
    }),
  );
  const others = readings.flat().filter(([, reading]) => reading !== 'Current');
  expect(others).toEqual([['wrong', 'Failed']]);
});

/** @param ref such as `modelroute/small`. */
async function readingOf(ref: string): Promise<KStatus> {
  const text = await installation.plane.mustKubectl(['get', ref, '--namespace=team-a', '--output=json']);
  return kstatusOf(JSON.parse(text));
}

/** Where the second half of those that are right begins. */
const half = Math.floor(count / 2);
let counter = 0;

/** A route changes, a key is switched off and on: each is through before this is settled, and every gateway serves it. */
async function othersMove(): Promise<void> {
  const { awaitCondition, gateways, plane } = installation;
  const n = ++counter % (half - 2);
  const upstreamModel = `m-${counter}`;
  const mate = `key-${half + n}`;
  const startedMs = performance.now();
  await mergePatch(plane.client, `${api}/modelroutes/route-${n}`, {
    spec: { targets: target({ upstreamModel }) },
  });
  await awaitCondition(`modelroute/route-${n}`, 'Programmed', 'team-a');
  movedMs.push(performance.now() - startedMs);
  expect(quantile(movedMs, 1)).toBeLessThan(5_000);
  for (const gateway of gateways) {
    expect(await askGateway(gateway, key, `route-${n}`)).toMatchObject({ status: 200, model: upstreamModel });
  }
  await mergePatch(plane.client, `${api}/apikeys/${mate}`, { spec: { disabled: true } });
  await awaitCondition(`apikey/${mate}`, 'Disabled', 'team-a');
  await mergePatch(plane.client, `${api}/apikeys/${mate}`, { spec: { disabled: false } });
  await awaitCondition(`apikey/${mate}`, 'Ready', 'team-a');
  // All events of what was decided before are written with that.
  await eventsOf(plane, { kind: 'ApiKey', namespace: 'team-a', name: mate }, 'DisabledBySpec');
}
