// What does the status of a TenantPolicy say, and when is it written?

import { expect, test } from 'vitest';
import { createPolicyJudge } from '../../../operator/compile/judge-policies.ts';
import { structural } from '../../../operator/resources/crd.ts';
import { fieldsOf } from '../../../operator/resources/reference.ts';
import { type TenantPolicyStatus, tenantPolicyResource } from '../../../operator/resources/tenant-policy.ts';
import {
  decidePolicyStatus,
  type PolicyDecision,
  type PolicyFacts,
} from '../../../operator/status/decide-policy-status.ts';
import type { RawPolicy } from '../../../operator/watch/snapshot.ts';
import { namespace, PLATFORM, tenantPolicy } from '../make.ts';
import { makeSpent } from '../usage/make-spent.ts';
import { fleet, NOW_MS, runs } from './status-support.ts';

const many = Array.from({ length: 12 }, (_, at) => `team-${String(at).padStart(2, '0')}`);
const budgets = [{ period: 'Month', limit: '10' }];
const limited = tenantPolicy({ namespaces: { names: [...many, 'to-come'] }, budgets });
const spends = (micros: Readonly<Record<string, number>>) => (name: string) =>
  makeSpent({ micros: micros[name] ?? 0, atMs: NOW_MS });

function decide(objects: RawPolicy | readonly RawPolicy[], facts: Partial<PolicyFacts> = {}): PolicyDecision {
  const judge = createPolicyJudge(PLATFORM);
  const [policy] = [objects]
    .flat()
    .map((one) => judge([one])[0])
    .slice(-1);
  if (policy === undefined) throw new Error('nothing was judged');
  return decidePolicyStatus({
    instance: 'penstock',
    policy,
    present: undefined,
    since: 7,
    pods: fleet(runs(7), runs(7)),
    namespaces: many.map((name) => namespace(name)),
    platformNamespaces: ['platform'],
    spentOf: spends({}),
    nowMs: NOW_MS,
    waitingSinceMs: NOW_MS,
    ...facts,
  });
}

function written(decision: PolicyDecision): TenantPolicyStatus {
  if (decision.type !== 'write') throw new Error('nothing is to be written');
  return decision.status;
}

const say = (status: TenantPolicyStatus, type: string) => {
  const found = status.conditions?.find((one) => one.type === type);
  return found && `${found.status} ${found.reason}: ${found.message}`;
};

test('a policy that every pod runs is Ready, and counts its existing namespaces', () => {
  const status = written(decide(limited));
  expect(status).toMatchObject({ observedGeneration: 1, namespaces: 12, state: 'Serving' });
  expect(say(status, 'Programmed')).toBe('True Programmed: on 2/2 gateway pods at table generation 7');
  expect(say(status, 'Ready')).toBe('True Programmed: ');
  expect(say(status, 'BudgetExhausted')).toBeUndefined();
});

test('a range that the NetworkPolicies close is reported with the line that opens it; an open one is not', () => {
  const opening = tenantPolicy({ egress: { allow: ['10.20.0.0/16', 'fd00:20::/64'] } });
  const closed = written(decide(opening, { networkPolicyRanges: ['10.0.0.0/8', '10.20.0.0/24'] }));
  expect(say(closed, 'Degraded')).toBe(
    'True ClosedByNetworkPolicy: spec.egress.allow: the NetworkPolicies of the chart let gateways reach fd00:20::/64 on the ports of networkPolicy.upstreamPorts alone. Where the network enforces them, run helm upgrade with networkPolicy.extraEgress: [{to: [{ipBlock: {cidr: "fd00:20::/64"}}]}]',
  );
  expect(closed.state).toBe('Degraded');
  expect(say(closed, 'Ready')).toBe('True Programmed: ');
  for (const networkPolicyRanges of [undefined, ['10.0.0.0/8', 'fd00::/16']])
    expect(say(written(decide(opening, { networkPolicyRanges })), 'Degraded')).toBeUndefined();
});

test('of several releases the first by name writes the status; another one does if the first misses an edit', () => {
  const here = written(decide(limited));
  expect(here.instance).toBe('penstock');
  const edited = tenantPolicy(
    { namespaces: { names: many }, budgets: [{ period: 'Month', limit: '20' }] },
    { generation: 2 },
  );
  for (const [instance, present, first] of [
    ['second', here, 'same'],
    ['alpha', here, 'write'],
    ['second', { ...here, instance: 'third' }, 'write'],
  ] as const) {
    expect(decide(limited, { instance, present }).type).toBe(first);
    expect(decide(edited, { instance, present }).type).toBe(first);
    expect(decide(edited, { instance, present, nowMs: NOW_MS + 60_000 }).type).toBe('write');
  }
  expect(decide(edited, { instance: 'second', present: here })).toEqual({
    type: 'same',
    untilMs: NOW_MS + 60_000,
  });
});

test('a release writes the status of the policy that its admission policies read, and no other one does', () => {
  const own = { ...limited, metadata: { ...limited.metadata, name: 'second-platform' } };
  const here = written(decide(own));
  expect(here.instance).toBe('penstock');
  const taken = written(decide(own, { instance: 'second', present: here }));
  expect(taken.instance).toBe('second');
  for (const instance of ['penstock', 'alpha', 'third'])
    expect(decide(own, { instance, present: taken, platformNamespaces: ['other'] }).type).toBe('same');
});

test('an unchanged status is not written again', () => {
  const present = written(decide(limited));
  expect(decide(limited, { present, nowMs: NOW_MS + 1_000 }).type).toBe('same');
});

test('lagging pods are named after five seconds', () => {
  const pods = fleet(runs(7), runs(6));
  expect(decide(limited, { pods })).toEqual({ type: 'same', untilMs: NOW_MS + 5_000 });
  const late = written(decide(limited, { pods, nowMs: NOW_MS + 5_000 }));
  expect(say(late, 'Programmed')).toContain('False Pending: ');
  expect(say(late, 'Reconciling')).toBeDefined();
});

test('an invalid policy is not accepted, names the field and says what is in force', () => {
  const wrong = tenantPolicy({ egress: { allow: ['169.254.169.254/32'] } }, { generation: 2 });
  const held = written(decide([tenantPolicy(), wrong]));
  expect(say(held, 'Accepted')).toMatch(
    /^False Invalid: spec\.egress\.allow\[0\]: .*[^.]; until that is corrected, generation 1 stays in force$/,
  );
  expect(say(held, 'Ready')).toBe(say(held, 'Accepted'));
  expect(say(held, 'Stalled')).toContain('True Invalid');
  expect(say(written(decide(wrong)), 'Accepted')).toMatch(/only its valid fields are in force$/);
  const unreadable = tenantPolicy({ namespaces: {} });
  expect(say(written(decide(unreadable)), 'Accepted')).toMatch(/no part of this policy is in force$/);
});

test('a used-up budget is shown, with the ten that are closest to their limit', () => {
  const spentOf = spends({ 'team-03': 10_000_000, 'team-07': 9_000_000 });
  const status = written(decide(limited, { spentOf }));
  expect(say(status, 'BudgetExhausted')).toBe(
    'True BudgetExhausted: the budget of the namespace team-03 is used up: calls of their ApiKeys are refused until the next period, or until spec.budgets allows more',
  );
  expect(say(status, 'Ready')).toBe('True Programmed: ');
  expect(status).toMatchObject({
    state: 'OverBudget',
    until: '2026-07-01T00:00:00Z',
    usage: { exhaustedNamespaces: 1 },
  });
  expect(status.usage?.budgets).toHaveLength(10);
  expect(status.usage?.budgets.slice(0, 3)).toEqual([
    { namespace: 'team-03', period: 'Month', spend: '10.00', limit: '10' },
    { namespace: 'team-07', period: 'Month', spend: '9.00', limit: '10' },
    { namespace: 'team-00', period: 'Month', spend: '0.00', limit: '10' },
  ]);
});

test('spend is written at most once a minute, and at once when a budget is passed', () => {
  const present = written(decide(limited, { spentOf: spends({ 'team-00': 1_000_000 }) }));
  const soon = { present, nowMs: NOW_MS + 1_000 };
  expect(decide(limited, { ...soon, spentOf: spends({ 'team-00': 2_000_000 }) })).toEqual({
    type: 'same',
    untilMs: NOW_MS + 60_000,
  });
  expect(decide(limited, { ...soon, spentOf: spends({ 'team-00': 10_000_000 }) }).type).toBe('write');
  const later = { present, nowMs: NOW_MS + 60_000, spentOf: spends({ 'team-00': 2_000_000 }) };
  expect(written(decide(limited, later)).usage?.budgets[0]?.spend).toBe('2.00');
});

test('during a ledger outage the last spend stays', () => {
  const present = written(decide(limited, { spentOf: spends({ 'team-00': 10_000_000 }) }));
  expect(decide(limited, { present, spentOf: undefined }).type).toBe('same');
});

test('every field of its status is written', () => {
  const platform = tenantPolicy({ role: 'Platform', budgets, namespaces: { names: many } });
  const found = new Set<string>();
  collect(written(decide(platform, { spentOf: spends({ 'team-00': 10_000_000 }) })), '', found);
  const leaves = fieldsOf(structural(tenantPolicyResource.status))
    .filter(({ schema }) => schema.properties === undefined && schema.items?.properties === undefined)
    // An older operator may still write what has another name now.
    .filter(({ schema }) => schema.description?.startsWith('Written by older operators') !== true)
    .map(({ path, schema }) => (schema.items === undefined ? path : `${path}[]`));
  expect(leaves.filter((path) => !found.has(path))).toEqual([]);
});

function collect(value: unknown, path: string, found: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) collect(one, `${path}[]`, found);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, child] of Object.entries(value)) {
      if (child !== undefined) collect(child, path === '' ? name : `${path}.${name}`, found);
    }
  } else found.add(path);
}
