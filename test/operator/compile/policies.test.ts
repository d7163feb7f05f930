// What do TenantPolicies say together, and what holds of one that is wrong?

import { describe, expect, test } from 'vitest';
import { applyPolicies } from '../../../operator/compile/apply-policies.ts';
import { reservedPrefix } from '../../../operator/compile/checks/reserved-prefix.ts';
import { createPolicyJudge } from '../../../operator/compile/judge-policies.ts';
import type { NamespaceRecord, RawPolicy } from '../../../operator/watch/snapshot.ts';
import { namespace, PLATFORM, tenantPolicy } from '../make.ts';

const known: readonly NamespaceRecord[] = [
  namespace('team-a', { tier: 'gold' }),
  namespace('team-b', { tier: 'gold' }),
  namespace('team-c'),
];
const named = (...names: readonly string[]) => ({ namespaces: { names } });
const gold = { namespaces: { selector: { matchLabels: { tier: 'gold' } } } };
const everywhere = { namespaces: { selector: {} } };
const month = (limit: string, more: object = {}) => ({ period: 'Month', limit, ...more });

function applied(...specs: readonly object[]) {
  const policies = specs.map((spec, at) => tenantPolicy({ ...spec }, { name: `policy-${at}` }));
  const judged = createPolicyJudge(PLATFORM)(policies);
  expect(judged.flatMap(({ problems }) => problems)).toEqual([]);
  return applyPolicies(
    PLATFORM,
    judged.flatMap(({ spec }) => spec ?? []),
    known,
  );
}

describe('several policies for a namespace', () => {
  test('have the smallest limit of a period, in any order', () => {
    const [large, small] = [
      { ...named('team-a'), budgets: [month('500')] },
      { ...gold, budgets: [month('50.5'), { period: 'Day', limit: '9' }] },
    ];
    const of = (...specs: readonly object[]) => applied(...specs).tenantBudgets;
    expect(of(large, small)).toEqual(of(small, large));
    const strictest = [
      { period: 'Day', limit: '9', action: 'Block', warnPercent: 80 },
      { period: 'Month', limit: '50.5', action: 'Block', warnPercent: 80 },
    ];
    expect(of(large, small)).toEqual([
      { namespace: 'team-a', budgets: strictest },
      { namespace: 'team-b', budgets: strictest },
    ]);
  });

  test('keep a blocking budget beside a warning one', () => {
    const both = applied(
      { ...named('team-a'), budgets: [month('500')] },
      { ...named('team-a'), budgets: [month('100', { action: 'Warn' })] },
    );
    expect(both.tenantBudgets?.[0]?.budgets).toMatchObject([
      { limit: '500', action: 'Block' },
      { limit: '100', action: 'Warn' },
    ]);
  });

  test('have the smallest number of each limit', () => {
    const { tenantLimits } = applied(
      { ...named('team-a'), limits: { requestsPerMinute: 600, maxConcurrentRequests: 5 } },
      { ...gold, limits: { requestsPerMinute: 60, tokensPerMinute: 1000 } },
    );
    expect(tenantLimits).toEqual([
      {
        namespace: 'team-a',
        limits: { requestsPerMinute: 60, tokensPerMinute: 1000, maxConcurrentRequests: 5 },
      },
      { namespace: 'team-b', limits: { requestsPerMinute: 60, tokensPerMinute: 1000 } },
    ]);
  });

  test('add up their egress ranges and roles', () => {
    const { egressAllow, platformNamespaces } = applied(
      { ...named('team-a'), egress: { allow: ['10.1.0.0/16'] } },
      { ...named('team-c'), egress: { allow: ['10.1.0.0/16', '10.2.0.0/16'] }, role: 'Platform' },
      { ...everywhere, egress: { allow: ['fd12::/16'] } },
    );
    expect(egressAllow).toEqual([
      { cidr: '10.1.0.0/16', namespaces: ['team-a', 'team-c'] },
      { cidr: '10.2.0.0/16', namespaces: ['team-c'] },
      // Of all namespaces, those to come included.
      { cidr: 'fd12::/16', namespaces: ['*'] },
    ]);
    expect(platformNamespaces).toEqual(['platform', 'team-c']);
  });
});

test('a budget of all namespaces holds for each of them separately', () => {
  const { tenantBudgets } = applied({ ...everywhere, budgets: [month('5')] });
  expect(tenantBudgets?.map((one) => one.namespace)).toEqual(['team-a', 'team-b', 'team-c']);
});

test('a named namespace need not exist yet', () => {
  const { tenantLimits } = applied({ ...named('team-x'), limits: { requestsPerMinute: 1 } });
  expect(tenantLimits).toEqual([{ namespace: 'team-x', limits: { requestsPerMinute: 1 } }]);
});

test('a prefix in a policy belongs to the policy’s namespaces and the platform’s', () => {
  const platform = applied({ ...named('team-a'), modelPrefixes: ['acme'] });
  const refusal = (of: string, model: string) => reservedPrefix(of, [model], platform)?.message;
  expect(refusal('team-a', 'acme/small')).toBeUndefined();
  expect(refusal('platform', 'acme/small')).toBeUndefined();
  expect(refusal('team-b', 'acme-2/small')).toBeUndefined();
  expect(refusal('team-b', 'Acme/small')).toBe(
    'the ModelRoute asks for "Acme/small": a TenantPolicy reserves ids that begin with "acme/" for other namespaces; create it with another id, such as "team-b/small", or ask the platform team for the prefix',
  );
});

describe('a policy that is wrong', () => {
  const right = tenantPolicy({ limits: { requestsPerMinute: 60 } }, { uid: 'one' });
  const edited = (spec: object, meta: object = {}): RawPolicy =>
    tenantPolicy({ limits: { requestsPerMinute: 1 }, ...spec }, { uid: 'one', generation: 2, ...meta });
  const metadataService = { egress: { allow: ['10.0.0.0/8', '169.254.169.254/32'] } };

  test('is reported with its fields, and its last good form stays in force', () => {
    const judge = createPolicyJudge(PLATFORM);
    judge([right]);
    const wrong = edited(metadataService);
    for (const again of [wrong, wrong, { ...wrong }]) {
      expect(judge([again])).toMatchObject([
        {
          problems: [
            {
              path: 'spec.egress.allow[1]',
              message: expect.stringContaining('metadata address, which can never be opened'),
            },
          ],
          spec: { limits: { requestsPerMinute: 60 } },
          heldGeneration: 1,
        },
      ]);
    }
    expect(judge([edited({}, { generation: 3 })])).toMatchObject([
      { problems: [], spec: { limits: { requestsPerMinute: 1 } } },
    ]);
  });

  test('without an earlier form counts with its valid fields', () => {
    const [judged] = createPolicyJudge(PLATFORM)([
      edited({ ...metadataService, modelPrefixes: ['penstock'] }),
    ]);
    expect(judged?.problems.map(({ path }) => path)).toEqual([
      'spec.egress.allow[1]',
      'spec.modelPrefixes[0]',
    ]);
    expect(judged?.spec).toEqual({
      namespaces: { names: ['team-a'] },
      limits: { requestsPerMinute: 1 },
    });
  });

  test('has no claim on the form of a deleted namesake', () => {
    const judge = createPolicyJudge(PLATFORM);
    judge([right]);
    const [judged] = judge([edited({ ...metadataService, limits: undefined }, { uid: 'two' })]);
    expect(judged?.spec?.limits).toBeUndefined();
  });

  test('reports nothing if its namespaces cannot be read', () => {
    const [judged] = createPolicyJudge(PLATFORM)([edited({ namespaces: {} })]);
    expect(judged?.spec).toBeUndefined();
  });

  test('leaves the others in force', () => {
    const other = tenantPolicy({ limits: { tokensPerMinute: 5 } }, { name: 'other' });
    const judged = createPolicyJudge(PLATFORM)([edited({ namespaces: {} }), other]);
    expect(judged.map(({ spec }) => spec?.limits)).toEqual([{ tokensPerMinute: 5 }, undefined]);
  });
});
