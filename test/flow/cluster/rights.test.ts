// Are the rights in the chart exactly those that its processes need? A whole life of an installation is played, and what was
// asked of the API server is held against what the roles grant: nothing was refused, and nothing is granted that nobody used.
//
// A right that is missing shows as a 403 in the audit log, one that is too many as a grant without a request. Where the
// operator serves some namespaces, each request is allowed by one rule alone: any rule that is taken away is a 403 there. That
// this hurts is shown on the running installation: a rule is taken away, what hangs on it stops with a word that says so,
// and goes on when the rule is back.

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { mergePatch } from '../../../core/kube/patch.ts';
import type { AuditEvent } from '../../cluster/audit.ts';
import { expectRights } from '../../cluster/can-i.ts';
import { makeCertificate } from '../../core/egress/certificates.ts';
import { runs } from '../../support/runs.ts';
import { until } from '../../support/until.ts';
import {
  accountRights,
  accounts,
  aggregatedRights,
  demoNamespace,
  type ServiceAccount,
  userOf,
} from './accounts.ts';
import { askGateway, askUntil } from './ask.ts';
import {
  changeAll,
  changeOneByOne,
  clientOf,
  lookAtAll,
  startDemoJob,
  startHelmTest,
  startPoliciesJob,
} from './errands.ts';
import {
  covers,
  describeGrant,
  describeUse,
  type Grant,
  grantsOf,
  grantsTo,
  isUsedBy,
  roleNames,
  roleWithout,
} from './grants.ts';
import {
  type Installation,
  namespace,
  type OperatorProcess,
  tableNamespace,
  useInstallation,
} from './installation.ts';
import {
  configMap,
  credentialSecret,
  importedApiKey,
  importedKey,
  issuedApiKey,
  modelRoute,
  namespaceOf,
  provider,
  tenantPolicy,
} from './manifests.ts';
import { readManifest } from './read-manifest.ts';
import { eventsOf } from './reported.ts';
import { useSimulator } from './simulator.ts';

const simulator = useSimulator();

const demo = { enabled: true };

/** What a tenant's people are bound to; nobody is by the chart itself. */
const tenantRoles = ['penstock-edit', 'penstock-tenant', 'penstock-view'] as const;

describe('over the whole cluster', () => {
  const installation = useInstallation({
    operators: 2,
    gateways: runs(2),
    hasLedger: true,
    namespaces: ['team-a'],
    plane: { hasControllers: true },
    values: { demo },
    losesRights: true,
  });

  test('no call is refused, and every right is used', async () => {
    const events = await lived(installation());
    for (const account of accounts) {
      const asked = askedBy(account, events);
      const grants = grantsTo(installation().rendered, account);
      expect(grants.length).toBeGreaterThan(0);
      expect(unused(grants, asked)).toEqual([]);
    }
  }, 60_000);

  test('every rule belongs to an account or to a role for tenants', () => {
    const { rendered } = installation();
    const held = new Set([
      ...accounts.flatMap((account) => grantsTo(rendered, account).map(({ role }) => role)),
      ...tenantRoles.map((name) => `ClusterRole ${name}`),
      'ClusterRole penstock-platform',
    ]);
    expect(roleNames(rendered)).toEqual([...held].sort());
  });

  test.each(tenantRoles)(
    'every right of %s is used by who is bound to it alone, and no other',
    async (role) => {
      const { plane, rendered } = installation();
      await lived(installation());
      const account = { namespace: 'team-a', name: `bound-to-${role}` };
      await plane.mustKubectl(['create', 'serviceaccount', account.name, '-n', 'team-a']);
      await plane.mustKubectl([
        ...['create', 'rolebinding', account.name, '-n', 'team-a', `--clusterrole=${role}`],
        `--serviceaccount=team-a:${account.name}`,
      ]);
      const client = await clientOf(installation(), account);
      try {
        if (role === 'penstock-edit') await changeAll(client);
        if (role === 'penstock-tenant') await changeOneByOne(client);
        await lookAtAll(client);
      } finally {
        client.close();
      }
      const asked = askedBy(account, await plane.audit());
      expect(refused(asked)).toEqual([]);
      expect(unused(grantsOf(rendered, `ClusterRole ${role}`, ['team-a']), asked)).toEqual([]);
    },
  );

  test('only the role penstock-platform may edit TenantPolicies, and no role of a namespace', async () => {
    const { plane } = installation();
    await plane.mustKubectl([
      'create',
      'clusterrolebinding',
      'platform',
      '--clusterrole=penstock-platform',
      '--user=platform',
    ]);
    const may = async (verb: string, user: string) =>
      (
        await plane.kubectl(['auth', 'can-i', verb, 'tenantpolicies.penstock.dev', `--as=${user}`])
      ).stdout.trim();
    for (const verb of ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'])
      expect([verb, await may(verb, 'platform')]).toEqual([verb, 'yes']);
    await aggregatedRights(plane);
    for (const role of ['admin', 'edit', 'view'])
      for (const verb of ['get', 'patch']) expect(await may(verb, `a-tenants-${role}`)).toBe('no');
  });

  test('kubectl auth can-i --list of each account shows the committed rights', async () => {
    const { plane } = installation();
    await expectRights(plane, 'cluster', accountRights);
    await expectRights(plane, 'tenants', await aggregatedRights(plane));
  });

  describe('a removed rule', () => {
    beforeEach(async () => void (await lived(installation())), 60_000);

    test('stops the operator: no status is written, and the log names the missing right', async () => {
      const { awaitCondition, gateways } = installation();
      await without('ClusterRole', 'penstock-operator-tenants', 'patch', 'modelroutes/status', async () => {
        await turnTo('without-status');
        await operatorSays(/cannot patch resource \\"modelroutes\/status\\"/);
        // What it may do, it does.
        for (const gateway of gateways) await served(gateway, 'without-status');
      });
      await awaitCondition('modelroute/small', 'Programmed', 'team-a');
    }, 60_000);

    test('stops the operator: no pointer is written, and gateways keep their table', async () => {
      const { awaitCondition, gateways } = installation();
      const before = await modelServed();
      await without('Role', 'penstock-operator', 'update', 'secrets', async () => {
        await turnTo('without-pointer');
        await operatorSays(/cannot update resource \\"secrets\\"/);
        for (const gateway of gateways) {
          expect(await askGateway(gateway, botKey, 'small')).toMatchObject({
            status: 200,
            model: before,
          });
        }
      });
      await awaitCondition('modelroute/small', 'Programmed', 'team-a');
      for (const gateway of gateways) await served(gateway, 'without-pointer');
    }, 60_000);

    test('stops gateways: they fetch no shard, keep their table, and say so', async () => {
      const { awaitCondition, gateways } = installation();
      const before = await modelServed();
      await without('Role', 'penstock-gateway', 'get', 'secrets', async () => {
        await turnTo('without-shards');
        for (const { process } of gateways) await process.line(/cannot get resource \\"secrets\\"/);
        for (const gateway of gateways) {
          expect(await askGateway(gateway, botKey, 'small')).toMatchObject({
            status: 200,
            model: before,
          });
        }
      });
      await awaitCondition('modelroute/small', 'Programmed', 'team-a', 40);
      for (const gateway of gateways) await served(gateway, 'without-shards');
    }, 60_000);
  });

  test('the role edit of a namespace covers the three kinds there, and nothing elsewhere', async () => {
    const { plane } = installation();
    await plane.mustKubectl(['create', 'namespace', 'team-b']);
    for (const role of ['edit', 'view']) {
      await plane.mustKubectl([
        'create',
        'rolebinding',
        role,
        '-n',
        'team-a',
        `--clusterrole=${role}`,
        `--user=${role}`,
      ]);
    }
    const may = async (user: string, ...what: string[]) =>
      (await plane.kubectl(['auth', 'can-i', ...what, `--as=${user}`])).stdout.trim() === 'yes';
    // The controller of the cluster puts these roles together when it comes to it, and tells nobody.
    await vi.waitFor(
      async () => {
        expect(await may('edit', 'create', 'apikeys.penstock.dev', '-n', 'team-a')).toBe(true);
        expect(await may('view', 'get', 'apikeys.penstock.dev', '-n', 'team-a')).toBe(true);
      },
      { timeout: 20_000, interval: 200 },
    );
    const bot = JSON.stringify(issuedApiKey('team-a', 'of-edit'));
    await plane.mustKubectl(['create', '--as=edit', '-f', '-'], { stdin: bot });
    expect(
      await plane.mustKubectl(['get', 'providers,modelroutes,apikeys', '-n', 'team-a', '--as=view']),
    ).toContain('of-edit');
    for (const [user, ...what] of [
      ['edit', 'patch', 'apikeys.penstock.dev', '--subresource=status', '-n', 'team-a'],
      ['edit', 'get', 'apikeys.penstock.dev', '-n', 'team-b'],
      ['edit', 'list', 'modelroutes.penstock.dev', '--all-namespaces'],
      ['edit', 'create', 'providers.penstock.dev', '-n', 'team-b'],
      ['edit', 'get', 'secrets', '-n', tableNamespace],
      ['view', 'create', 'apikeys.penstock.dev', '-n', 'team-a'],
      ['view', 'get', 'secrets', '-n', 'team-a'],
    ] as const) {
      expect([user, what, await may(user, ...what)]).toEqual([user, what, false]);
    }
  });

  test('a gateway reads the shards of the table by name, and no list of Secrets anywhere', async () => {
    const { plane } = installation();
    await lived(installation());
    const gateway = `--as=${userOf({ namespace, name: 'penstock-gateway' })}`;
    const listed = ['get', 'secrets', gateway];
    for (const place of [['-n', tableNamespace], ['-n', 'team-a'], ['-n', namespace], ['--all-namespaces']]) {
      const said = await plane.kubectl([...listed, ...place]);
      expect([place, said.code, said.stderr]).toEqual([
        place,
        1,
        expect.stringContaining('cannot list resource "secrets"'),
      ]);
    }
    // The pointer alone can be picked out of the list.
    const one = ['-n', tableNamespace, '-o', 'name'];
    expect(
      await plane.mustKubectl([...listed, ...one, '--field-selector=metadata.name=penstock-current']),
    ).toBe('secret/penstock-current\n');
    const other = await plane.kubectl([
      ...listed,
      ...one,
      `--field-selector=metadata.name=${(await routeShard(installation())).name}`,
    ]);
    expect(other.stderr).toContain('cannot list resource "secrets"');
    const credential = await plane.kubectl(['get', 'secret', 'sim', '-n', 'team-a', gateway]);
    expect(credential.stderr).toContain('cannot get resource "secrets"');
  });

  async function turnTo(upstreamModel: string): Promise<void> {
    await pointRoute(installation(), upstreamModel);
  }

  async function modelServed(): Promise<string | undefined> {
    const [gateway] = installation().gateways;
    return gateway && (await askGateway(gateway, botKey, 'small')).model;
  }

  function operatorSays(words: RegExp): Promise<string> {
    return Promise.any(installation().operators.map(({ process }) => process.line(words)));
  }

  async function served(gateway: Installation['gateways'][number], model: string): Promise<void> {
    await askUntil(gateway, botKey, 'small', (said) => said.model === model);
  }

  /** A role as it is in the chart, but for one verb on one resource. */
  async function without(
    kind: string,
    name: string,
    verb: string,
    resource: string,
    during: () => Promise<void>,
  ) {
    const { apply, rendered } = installation();
    const isIn = ({ metadata }: { metadata: { namespace?: string | undefined } }) =>
      kind === 'ClusterRole' || metadata.namespace === tableNamespace;
    const role = rendered.find(
      (object) => object.kind === kind && object.metadata.name === name && isIn(object),
    );
    if (role === undefined) throw new Error(`the chart has no ${kind} ${name}`);
    await apply(roleWithout(role, (one, asked) => one === resource && asked === verb));
    try {
      await during();
    } finally {
      await apply({ ...role });
    }
  }
});

describe('over some namespaces', () => {
  const tenants = ['platform', 'team-a'];
  const installation = useInstallation({
    operators: 2,
    gateways: runs(2),
    hasLedger: true,
    namespaces: tenants,
    values: { demo, rbac: { scope: 'namespaces', tenantNamespaces: tenants } },
    losesRights: true,
  });

  test('no call is refused, every right is used, and every right is needed', async () => {
    const events = await lived(installation());
    for (const account of accounts) {
      const asked = askedBy(account, events);
      const grants = grantsTo(installation().rendered, account);
      expect(unused(grants, asked)).toEqual([]);
      // Here no role lies over another one: each request is allowed by one rule alone.
      const doubly = asked.filter((event) => grants.filter((grant) => covers(grant, event)).length > 1);
      expect(doubly.map(describeUse)).toEqual([]);
    }
  }, 60_000);

  test('kubectl auth can-i --list of each account shows the committed rights', async () => {
    await expectRights(installation().plane, 'namespaces', accountRights);
  });

  test('an unlisted namespace is ignored, and no request is made for it', async () => {
    const { apply, awaitCondition, gateways, plane } = installation();
    await lived(installation());
    await apply(
      namespaceOf('team-b'),
      credentialSecret('team-b', 'sim', simulator().url, 'sk-one'),
      provider('team-b', 'sim', simulator().url, 'sim'),
      modelRoute('team-b', 'of-b', ['sim']),
      importedApiKey('team-b', 'bot'),
      issuedApiKey('team-b', 'issued'),
      // Applied after these, in a namespace that is listed: when it is through, they would be.
      modelRoute('team-a', 'late', ['sim']),
    );
    await awaitCondition('modelroute/late', 'Programmed', 'team-a');
    const kinds = [
      'get',
      'providers,modelroutes,apikeys',
      '-n',
      'team-b',
      '-o',
      'jsonpath={.items[*].status.observedGeneration}',
    ];
    expect(await plane.mustKubectl(kinds)).toBe('');
    expect(await plane.mustKubectl(['get', 'secrets', '-n', 'team-b', '-o', 'name'])).toBe('secret/sim\n');
    expect(await plane.mustKubectl(['get', 'events', '-n', 'team-b', '-o', 'name'])).toBe('');
    for (const gateway of gateways) {
      expect((await askGateway(gateway, importedKey('team-b', 'bot'), 'of-b')).status).toBe(401);
    }
    const events = (await plane.audit()).filter(({ user }) => accounts.some((one) => user === userOf(one)));
    expect(events.filter((event) => event.namespace === 'team-b').map(describeUse)).toEqual([]);
    expect(refused(events)).toEqual([]);
  });

  // A tenant's admin may delete RoleBindings. An operator that starts after that cannot read the namespace, and once
  // waited for it for ever: nobody's changes arrived any more.
  test('a listed namespace without read access blocks no other, and its keys keep working', async () => {
    const { apply, awaitCondition, gateways, operators, plane, rendered, startOperator } = installation();
    await lived(installation());
    const binding = rendered.find(
      ({ kind, metadata }) =>
        kind === 'RoleBinding' && metadata.namespace === 'team-a' && metadata.name.includes('operator'),
    );
    if (binding === undefined) throw new Error('the chart binds the operator in team-a');
    await apply(modelRoute('team-a', 'kept', ['sim']), importedApiKey('team-a', 'kept'));
    await awaitCondition('apikey/kept', 'Programmed', 'team-a');
    await awaitCondition('modelroute/kept', 'Programmed', 'team-a');
    const kept = importedKey('team-a', 'kept');

    for (const { process } of operators) await process.stop();
    await plane.mustKubectl(['delete', 'rolebinding', binding.metadata.name, '-n', 'team-a']);
    const { metricsUrl, process } = await startOperator();
    await process.line(/namespaces cannot be read/);
    await apply(importedApiKey('platform', 'during-outage'));
    await awaitCondition('apikey/during-outage', 'Programmed', 'platform');
    for (const gateway of gateways) expect((await askGateway(gateway, kept, 'kept')).status).toBe(200);
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(metrics).toContain('penstock_operator_unreadable_namespaces 1');

    await apply({ ...binding });
    await apply(modelRoute('team-a', 'later', ['sim']));
    await awaitCondition('modelroute/later', 'Programmed', 'team-a', 60);
    for (const gateway of gateways) expect((await askGateway(gateway, kept, 'later')).status).toBe(200);
  }, 120_000);
});

const botKey = importedKey('team-a', 'imported');
const authority = makeCertificate({ name: 'authority', isCa: true });

function askedBy(account: ServiceAccount, events: readonly AuditEvent[]): AuditEvent[] {
  const asked = events.filter(({ user, resource }) => user === userOf(account) && resource !== '');
  expect(asked.length).toBeGreaterThan(0);
  return asked;
}

function unused(grants: readonly Grant[], asked: readonly AuditEvent[]): string[] {
  return grants.filter((grant) => !asked.some((event) => isUsedBy(grant, event))).map(describeGrant);
}

const lives = new WeakMap<Installation, Promise<AuditEvent[]>>();

/** The first caller does it. */
function lived(installation: Installation): Promise<AuditEvent[]> {
  const life = lives.get(installation) ?? liveThrough(installation);
  lives.set(installation, life);
  return life;
}

/** Everything that can happen to an installation, once, and nothing of it was refused. Gives what was asked for it. */
async function liveThrough(installation: Installation): Promise<AuditEvent[]> {
  let failure: unknown;
  await playAll(installation).catch((error: unknown) => {
    failure = error;
  });
  const events = await installation.plane.audit();
  // First what was refused: where something failed, that is why.
  for (const account of accounts) expect(refused(askedBy(account, events))).toEqual([]);
  if (failure !== undefined) throw failure;
  return events;
}

function refused(asked: readonly AuditEvent[]): string[] {
  return asked.filter(({ status }) => status === 403).map(describeUse);
}

async function playAll(installation: Installation): Promise<void> {
  const { apply, awaitCondition, gateways, operators, plane, restartGateway } = installation;
  expect((await (await startDemoJob(installation)).exit).code).toBe(0);
  expect((await (await startPoliciesJob(installation)).exit).code).toBe(0);
  await passHelmTest(installation);
  await apply(
    configMap('team-a', 'internal-ca', { 'ca.crt': authority.cert }),
    credentialSecret('team-a', 'private', 'https://models.example', 'sk-two'),
    provider('team-a', 'private', 'https://models.example', 'private', {
      tls: { caRef: { name: 'internal-ca' } },
    }),
  );
  await awaitCondition('provider/private', 'Ready', 'team-a');
  await apply(
    credentialSecret('team-a', 'sim', simulator().url, 'sk-one'),
    provider('team-a', 'sim', simulator().url, 'sim'),
    modelRoute('team-a', 'small', ['sim']),
    importedApiKey('team-a', 'imported'),
    issuedApiKey('team-a', 'issued'),
  );
  for (const ref of ['provider/sim', 'modelroute/small', 'apikey/imported', 'apikey/issued']) {
    await awaitCondition(ref, 'Ready', 'team-a');
  }
  await apply(tenantPolicy('team-a', { limits: { requestsPerMinute: 6000 } }));
  await awaitCondition('tenantpolicy/team-a', 'Ready', 'default');
  const first = await routeShard(installation);

  // What the spec asks of the Secret is brought to it.
  await mergePatch(plane.client, pathOf('apikeys', 'issued'), {
    spec: { secret: { labels: { app: 'ci' } } },
  });
  const dressed = ['secret/issued-key', '-n', 'team-a', '--for=jsonpath={.metadata.labels.app}=ci'];
  await plane.mustKubectl(['wait', ...dressed, '--timeout=20s']);

  // Switched off twice: an event that comes again is counted up.
  for (const disabled of [true, false, true]) {
    await mergePatch(plane.client, pathOf('apikeys', 'issued'), { spec: { disabled } });
    await awaitCondition('apikey/issued', disabled ? 'Disabled' : 'Ready', 'team-a');
  }
  const ofIssued = '--field-selector=regarding.name=issued,reason=DisabledBySpec';
  const names = await plane.mustKubectl([
    'get',
    'events.events.k8s.io',
    '-n',
    'team-a',
    ofIssued,
    '-o',
    'name',
  ]);
  expect(names.trim().split('\n')).toHaveLength(1);
  await plane.mustKubectl([
    'wait',
    names.trim(),
    '-n',
    'team-a',
    '--for=jsonpath={.series.count}=2',
    '--timeout=20s',
  ]);

  // What concerns the whole table is reported at the pointer, and counted up there too.
  const pointer = ['secret', 'penstock-current', '-n', tableNamespace];
  const atPointer = { kind: 'Secret', namespace: tableNamespace, name: 'penstock-current' };
  const isTold = async (reason: string, times: number) =>
    (await eventsOf(plane, atPointer, reason)).some((one) => one.reason === reason && one.count === times);
  for (const times of [1, 2]) {
    await plane.mustKubectl(['annotate', ...pointer, 'penstock.dev/pin=7']);
    await until(() => isTold('PinImpossible', times));
    await plane.mustKubectl(['annotate', ...pointer, 'penstock.dev/pin-']);
    await until(() => isTold('Unpinned', times));
  }

  // A Secret with the name of a shard that is needed again, and something else in it.
  await pointRoute(installation, 'other');
  await awaitCondition('modelroute/small', 'Programmed', 'team-a');
  expect((await routeShard(installation)).name).not.toBe(first.name);
  await plane.mustKubectl(['delete', 'secret', first.name, '-n', tableNamespace]);
  await plane.mustKubectl([
    'create',
    'secret',
    'generic',
    first.name,
    '-n',
    tableNamespace,
    '--from-literal=shard=x',
  ]);

  // The leader goes, another one takes over what it finds.
  const leader = await leaderOf(operators);
  const rest = operators.filter((operator) => operator !== leader);
  expect((await leader.process.stop(20_000)).code).toBe(0);
  await leaderOf(rest);
  await pointRoute(installation, 'm');
  await awaitCondition('modelroute/small', 'Programmed', 'team-a');
  expect(await routeShard(installation)).toEqual(first);

  // The spend of the team, for users that may get its keys.
  const spend = await fetch(`${installation.ledger().url}/v1/sums?namespace=team-a`, {
    headers: { authorization: `Bearer ${plane.adminToken}` },
  });
  expect(spend.status).toBe(200);

  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('there is no gateway');
  await gateway.process.stop();
  await restartGateway(gateway);
  await gateway.process.answering(`${gateway.metricsUrl}/readyz`);

  await plane.mustKubectl(['delete', 'secret', first.name, '-n', tableNamespace]);
  await plane.mustKubectl([
    'wait',
    '--for=create',
    `secret/${first.name}`,
    '-n',
    tableNamespace,
    '--timeout=20s',
  ]);

  for (const each of gateways) expect((await askGateway(each, botKey, 'small')).status).toBe(200);
  await plane.mustKubectl(['delete', 'apikey', 'issued', '-n', 'team-a']);
}

/** Past the key; and the Pod hangs on its account. */
async function passHelmTest(installation: Installation): Promise<void> {
  const { awaitCondition, plane } = installation;
  for (const kind of ['modelroute', 'apikey']) await awaitCondition(`${kind}/demo`, 'Ready', demoNamespace);
  const pod = await startHelmTest(installation);
  await pod.line(/model demo answered 5\d\d/);
  await pod.exit;
  const owner = ['-o', 'jsonpath={.metadata.ownerReferences[*].kind}/{.metadata.ownerReferences[*].name}'];
  expect(await plane.mustKubectl(['get', 'pod', 'penstock-test', '-n', namespace, ...owner])).toBe(
    'ServiceAccount/penstock-test',
  );
}

/** The first that leads, or led. */
function leaderOf(operators: readonly OperatorProcess[]): Promise<OperatorProcess> {
  return Promise.any(
    operators.map(async (operator) => {
      await operator.process.line(/"leading"/);
      return operator;
    }),
  );
}

function pathOf(plural: string, name: string): string {
  return `/apis/penstock.dev/v1alpha1/namespaces/team-a/${plural}/${name}`;
}

async function pointRoute({ plane }: Installation, upstreamModel: string): Promise<void> {
  const targets = [{ name: 'sim', providerRef: { name: 'sim' }, upstreamModel, priority: 0 }];
  await mergePatch(plane.client, pathOf('modelroutes', 'small'), { spec: { targets } });
}

/** The one shard with routes. */
async function routeShard({
  plane,
}: Installation): Promise<{ readonly name: string; readonly sha256: string }> {
  const shards = (await readManifest(plane)).shards.filter(({ kind }) => kind === 'routes');
  expect(shards).toHaveLength(1);
  const [{ name, sha256 } = { name: '', sha256: '' }] = shards;
  return { name, sha256 };
}
