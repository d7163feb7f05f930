// Can any rule of the chart's roles be done without? Each is taken away in turn, and somebody misses it: the API server refuses
// what it was for, which every test that reads the audit log sees.
//
// Where the operator serves some namespaces, no role lies over another one, so every single verb on every resource is taken away;
// over the whole cluster, where they do, every rule. Only whom the rule is for plays its part, as shortly as shows it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { apply, deleteObject } from '../../core/kube/patch.ts';
import { objectPath } from '../../core/kube/paths.ts';
import { type Simulator, startSimulator } from '../../simulator/server.ts';
import { buildDist } from '../../tools/pack/bundles.ts';
import { policyObjects } from '../charts/parts.ts';
import type { AuditEvent } from '../cluster/audit.ts';
import type { RenderedObject } from '../cluster/install.ts';
import { makeCertificate } from '../core/egress/certificates.ts';
import { accounts, demoNamespace, type ServiceAccount, userOf } from '../flow/cluster/accounts.ts';
import {
  changeAll,
  changeOneByOne,
  clientOf,
  lookAtAll,
  startDemoJob,
  startHelmTest,
  startPoliciesJob,
} from '../flow/cluster/errands.ts';
import {
  covers,
  describeGrant,
  type Grant,
  grantsOf,
  grantsTo,
  isRole,
  isUsedBy,
  nameOf,
  roleWithout,
} from '../flow/cluster/grants.ts';
import { type Installation, startInstallation } from '../flow/cluster/installation.ts';
import type { RunningProcess } from '../support/process.ts';
import { until as untilFound } from '../support/until.ts';
import { asAtFirst, live, settle, tidy, until } from './rights/life.ts';
import { type AuditTail, followAudit } from './rights/refusals.ts';

const tenants = ['platform', 'team-a'];
const tenantRoles = ['penstock-edit', 'penstock-tenant', 'penstock-view'] as const;
/** So long one of them may take to be missed. */
const patienceMs = 300_000;

/** So late after an answer a line of the audit log may be written. */
const writtenMs = 2_000;

let folder: string;
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), 'penstock-rights-'));
  await buildDist(fileURLToPath(new URL('../..', import.meta.url)), folder);
});
afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  [
    'some namespaces',
    'verb',
    { demo: { enabled: true }, rbac: { scope: 'namespaces', tenantNamespaces: tenants } },
  ],
  ['the whole cluster', 'rule', { demo: { enabled: true } }],
] as const)(
  'over %s, every %s of the chart is needed',
  async (_, what, values) => {
    await using parts = new AsyncDisposableStack();
    const installation = await startInstallation({
      operators: 0,
      gateways: 1,
      namespaces: tenants,
      build: {
        operator: join(folder, 'operator.js'),
        gateway: join(folder, 'gateway.js'),
        ledger: join(folder, 'ledger.js'),
      },
      values,
      losesRights: true,
    });
    parts.defer(() => installation.stop());
    const { plane, rendered } = installation;
    await settle(installation, simulator.url, makeCertificate({ name: 'authority', isCa: true }).cert);
    for (const role of tenantRoles) {
      const { name } = accountOf(role);
      await plane.mustKubectl(['create', 'serviceaccount', name, '-n', 'team-a']);
      await plane.mustKubectl([
        ...['create', 'rolebinding', name, '-n', 'team-a', `--clusterrole=${role}`],
        `--serviceaccount=team-a:${name}`,
      ]);
    }
    const tail = await followAudit(plane.auditFile);
    parts.defer(() => tail.close());
    const parties = partiesOf(installation);
    let round = 0;

    // With all rights, nothing is refused, and each part uses every right that it is to miss.
    for (const { account, grants, play } of parties) {
      await tail.read();
      await play(++round, AbortSignal.timeout(patienceMs));
      const asked = (await tail.read()).filter(({ user }) => user === userOf(account));
      expect(asked.filter(({ status }) => status === 403).map(({ uri }) => uri)).toEqual([]);
      const isUsed = (grant: Grant) => asked.some((event) => isUsedBy(grant, event));
      if (what === 'verb') expect(grants.filter((grant) => !isUsed(grant)).map(describeGrant)).toEqual([]);
    }

    const startedMs = performance.now();
    const removals = parties.flatMap((party) =>
      groupedBy(party.grants, what).map((taken) => ({ party, taken })),
    );
    const notMissed: string[] = [];
    for (const { party, taken } of removals) {
      const [{ role: roleName }] = taken;
      const role = rendered.find((object) => isRole(object) && nameOf(object) === roleName);
      if (role === undefined) throw new Error(`the chart has no ${roleName}`);
      const fewer = roleWithout(role, (resource, verb, rule) =>
        taken.some((one) => one.rule === rule && one.verb === verb && pathOf(one) === resource),
      );
      await applied(installation, fewer);
      await untilMay(installation, party, taken, false);
      await tail.read();
      const missed = await isMissed(party, taken, ++round, tail);
      console.log(`${missed ? 'missed' : 'NOT MISSED'}: ${taken.map(describeGrant).join(', ')}`);
      if (!missed) notMissed.push(taken.map(describeGrant).join(', '));
      await applied(installation, role);
      await untilMay(installation, party, taken, true);
    }
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    console.log(
      `${removals.length} removals (each one ${what}): ${removals.length - notMissed.length} were missed; ${seconds} s`,
    );
    expect(notMissed).toEqual([]);
  },
  1_800_000,
);

/** In the place of the role of that name. */
async function applied({ plane }: Installation, role: RenderedObject): Promise<void> {
  const { namespace, name } = role.metadata;
  const plural = role.kind === 'Role' ? 'roles' : 'clusterroles';
  const resource = { group: 'rbac.authorization.k8s.io', version: 'v1', plural };
  const path = objectPath(resource, { name, ...(namespace === undefined ? {} : { namespace }) });
  // A machine at work lets a call die now and then.
  await until(
    () => apply(plane.client, path, role, { fieldManager: 'rights-removal', force: true }),
    AbortSignal.timeout(patienceMs),
  );
}

type Grants = readonly [Grant, ...Grant[]];

/** Somebody with rights, and what makes them use them all. */
interface Party {
  readonly account: ServiceAccount;
  readonly grants: readonly Grant[];
  play(round: number, signal: AbortSignal): Promise<void>;
}

function partiesOf(installation: Installation): Party[] {
  const { plane, rendered, startGateway, startLedger, startOperator } = installation;
  const playOf: Record<string, Party['play']> = {
    async 'penstock-operator'(round, signal) {
      await asAtFirst(installation);
      const { process } = await startOperator();
      try {
        await live(installation, round, signal);
      } finally {
        process.signal('SIGKILL');
        await process.exit;
        await tidy(installation, round);
      }
    },
    async 'penstock-gateway'(_, signal) {
      const { metricsUrl, process, pod } = await startGateway();
      try {
        await until(async () => (await fetch(`${metricsUrl}/readyz`)).ok, signal);
      } finally {
        await process.stop();
        await pod.remove();
      }
    },
    async 'penstock-ledger'(_, signal) {
      const { metricsUrl, process, url } = await startLedger();
      const headers = { authorization: `Bearer ${plane.adminToken}` };
      try {
        await until(async () => (await fetch(`${url}/v1/sums?namespace=team-a`, { headers })).ok, signal);
        await until(async () => (await fetch(`${metricsUrl}/readyz`)).ok, signal);
      } finally {
        await process.stop();
      }
    },
    async 'penstock-tenant-policies'(_, signal) {
      for (const { metadata } of policyObjects(rendered))
        await deleteObject(plane.client, policyPath(metadata.name)).catch(() => {});
      await untilExit(await startPoliciesJob(installation), signal);
    },
    async 'penstock-demo'(_, signal) {
      // What is there cannot show the right to create. Its Provider counts as in use, whichever operator was the last to say so.
      for (const kind of ['providers', 'modelroutes', 'apikeys']) {
        const all = [`${kind}.penstock.dev`, '--all', '-n', demoNamespace];
        await plane.mustKubectl([
          'annotate',
          ...all,
          '--overwrite',
          'penstock.dev/deletion-protection=false',
        ]);
        await plane.mustKubectl(['delete', ...all]);
      }
      await untilExit(await startDemoJob(installation), signal);
    },
    async 'penstock-test'(_, signal) {
      await untilExit(await startHelmTest(installation), signal);
    },
  };
  return [
    ...accounts.map((account): Party => {
      const play = playOf[account.name];
      if (play === undefined) throw new Error(`nobody plays ${account.name}`);
      return { account, grants: grantsTo(rendered, account), play };
    }),
    ...tenantRoles.map((role): Party => {
      const account = accountOf(role);
      return {
        account,
        grants: grantsOf(rendered, `ClusterRole ${role}`, ['team-a']),
        async play() {
          for (const plural of ['providers', 'modelroutes', 'apikeys']) {
            for (const name of ['of-tenant', 'of-tenant-too']) {
              const path = `/apis/penstock.dev/v1alpha1/namespaces/team-a/${plural}/${name}`;
              await deleteObject(plane.client, path).catch(() => {});
            }
          }
          const client = await clientOf(installation, account);
          try {
            if (role === 'penstock-edit') await changeAll(client);
            if (role === 'penstock-tenant') await changeOneByOne(client);
            await lookAtAll(client);
          } finally {
            client.close();
          }
        },
      };
    }),
  ];
}

async function untilExit(job: RunningProcess, signal: AbortSignal): Promise<void> {
  const abort = () => job.signal('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  await job.exit;
  signal.removeEventListener('abort', abort);
}

function accountOf(role: string): ServiceAccount {
  return { namespace: 'team-a', name: `bound-to-${role}` };
}

function groupedBy(grants: readonly Grant[], what: 'verb' | 'rule'): Grants[] {
  const keyOf = ({ role, rule, verb, resource, subresource }: Grant) =>
    JSON.stringify(what === 'rule' ? [role, rule] : [role, rule, verb, resource, subresource]);
  return Object.values(Object.groupBy(grants, keyOf)).flatMap((group) => {
    const [first, ...rest] = group ?? [];
    return first === undefined ? [] : [[first, ...rest] as const];
  });
}

function policyPath(name: string): string {
  return `/apis/penstock.dev/v1alpha1/tenantpolicies/${name}`;
}

function pathOf({ resource, subresource }: Grant): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}

/** Plays until somebody is refused for want of it, or the play is over. */
async function isMissed(party: Party, taken: Grants, round: number, tail: AuditTail): Promise<boolean> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(patienceMs)]);
  let isOver = false;
  const playing = party
    .play(round, signal)
    // It may well fail: somebody is missing a right.
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  const user = userOf(party.account);
  let overMs: number | undefined;
  const end = await untilFound(async () => {
    if (isOver || signal.aborted) overMs ??= performance.now();
    const refused = (await tail.read()).filter((event) => event.user === user && event.status === 403);
    if (refused.some((event) => taken.some((grant) => wasFor(grant, event)))) return 'refused';
    return overMs !== undefined && performance.now() >= overMs + writtenMs && 'never refused';
  }, 50);
  stop.abort();
  await playing;
  return end === 'refused';
}

/** A server-side apply of what is not there is refused as a patch, though it is the right to create that lacks. */
function wasFor(grant: Grant, event: AuditEvent): boolean {
  return covers(grant, event) || (event.verb === 'patch' && covers(grant, { ...event, verb: 'create' }));
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** The API server hears of roles by a watch of its own. Where another role gives the same, one of those taken is enough. */
async function untilMay(
  { plane }: Installation,
  { account }: Party,
  taken: Grants,
  wanted: boolean,
): Promise<void> {
  const answers = async () => {
    for (const { verb, group, resource, subresource, names, namespaces } of taken) {
      const [name] = names;
      const resourceAttributes = {
        ...{ verb, group, resource, subresource },
        ...(name === undefined ? {} : { name }),
        ...(namespaces === '*' ? {} : { namespace: namespaces[0] }),
      };
      const answer = await plane.client.call({
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
        body: {
          ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
          spec: { user: userOf(account), resourceAttributes },
        },
      });
      if (reviewSchema.parse(answer).status.allowed === wanted) return true;
    }
    return false;
  };
  await until(answers, AbortSignal.timeout(patienceMs));
}
