// Does every field act? Each leaf of each spec is either refused, because it has no effect yet, or shown to act
// by a test. A field that is in neither list would be silently ignored.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { apiKeyResource } from '../../../operator/resources/api-key.ts';
import { type CrdSchema, structural } from '../../../operator/resources/crd.ts';
import { modelRouteResource } from '../../../operator/resources/model-route.ts';
import { parseProvider, providerResource } from '../../../operator/resources/provider.ts';
import type { Resource } from '../../../operator/resources/resource.ts';
import { tenantPolicyResource } from '../../../operator/resources/tenant-policy.ts';
import { findUnknownOptions, findUnsupported, UNSUPPORTED } from '../../../operator/resources/unsupported.ts';
import { provider } from '../make.ts';

const TESTS = join(import.meta.dirname, '../..');

/** What the compile makes of it is held in the file beside it; golden.test.ts compares. */
const GOLDEN = 'fixtures/compile/everything-set.in.yaml';
const KEYS = 'operator/compile/keys.test.ts';
const DELIVERY = 'flow/delivery.test.ts';
const DEADLINES = 'gateway/attempt/deadlines.test.ts';
const FAULTS = 'flow/faults.ts';
const SLOW = 'flow/slow-and-gone.test.ts';
const NEXT_STEP = 'gateway/attempt/next-step.test.ts';
const DRILLS = 'operator/drills/drills.test.ts';
const MODELS = 'gateway/endpoints/models.test.ts';
const SELECTOR = 'operator/compile/selector.test.ts';
const IDENTITY = 'operator/compile/identity.test.ts';
const POLICIES = 'operator/compile/policies.test.ts';
const CHECK = 'operator/probe/check.test.ts';
const CHECKS = 'operator/probe/prober.test.ts';
const CONNECTION = 'operator/compile/connection.test.ts';
const TLS = 'core/egress/tls.test.ts';
const ISSUE = 'local/issue.test.ts';
const PLAN = 'operator/keys/plan-key.test.ts';
const LIMITS = 'gateway/limits/limits.test.ts';
const QUOTAS = 'gateway/limits/quotas.test.ts';
const BUDGETS = 'gateway/limits/budgets.test.ts';

/** Leaf fields that act, and the file below test/ that shows the effect, or a folder of such files. */
const ACTS: Readonly<Record<Resource['kind'], Readonly<Record<string, string>>>> = {
  Provider: {
    'spec.type': GOLDEN,
    'spec.displayName': GOLDEN,
    'spec.baseURL': GOLDEN,
    'spec.apis[]': GOLDEN,
    'spec.options{}': GOLDEN,
    'spec.auth.type': GOLDEN,
    'spec.auth.aws.roleARN': IDENTITY,
    'spec.auth.aws.externalID': IDENTITY,
    'spec.auth.aws.sessionTags': IDENTITY,
    'spec.auth.gcp.serviceAccount': IDENTITY,
    'spec.auth.azure.tenantID': IDENTITY,
    'spec.auth.azure.clientID': IDENTITY,
    'spec.auth.azure.scope': IDENTITY,
    'spec.auth.header.name': GOLDEN,
    'spec.auth.header.prefix': GOLDEN,
    'spec.auth.keys[].name': GOLDEN,
    'spec.auth.keys[].secretRef.name': GOLDEN,
    'spec.auth.keys[].secretRef.key': GOLDEN,
    'spec.auth.keys[].weight': GOLDEN,
    'spec.auth.keys[].priority': GOLDEN,
    'spec.auth.keys[].disabled': GOLDEN,
    'spec.auth.keys[].limits.requestsPerMinute': QUOTAS,
    'spec.auth.keys[].limits.tokensPerMinute': QUOTAS,
    'spec.auth.keys[].limits.maxConcurrentRequests': QUOTAS,
    'spec.limits.requestsPerMinute': QUOTAS,
    'spec.limits.tokensPerMinute': QUOTAS,
    'spec.limits.maxConcurrentRequests': QUOTAS,
    'spec.headers[].name': GOLDEN,
    'spec.headers[].value': GOLDEN,
    'spec.headers[].valueFrom.secretKeyRef.name': GOLDEN,
    'spec.headers[].valueFrom.secretKeyRef.key': GOLDEN,
    'spec.tls.caRef.kind': CONNECTION,
    'spec.tls.caRef.name': CONNECTION,
    'spec.tls.caRef.key': CONNECTION,
    'spec.tls.clientCertificateRef.name': CONNECTION,
    'spec.tls.serverName': TLS,
    'spec.tls.minVersion': TLS,
    'spec.tls.insecureSkipVerify': TLS,
    'spec.proxy.url': CONNECTION,
    'spec.proxy.credentialsRef.name': CONNECTION,
    'spec.timeouts.connect': GOLDEN,
    'spec.timeouts.firstEvent': DEADLINES,
    'spec.timeouts.lastFirstEvent': FAULTS,
    'spec.timeouts.liveness': DEADLINES,
    'spec.timeouts.progress': DEADLINES,
    'spec.timeouts.total': FAULTS,
    'spec.timeouts.clientWrite': SLOW,
    'spec.healthCheck.active.type': CHECK,
    'spec.healthCheck.active.path': CHECK,
    'spec.healthCheck.active.model': CHECK,
    'spec.healthCheck.active.interval': CHECKS,
    'spec.healthCheck.active.timeout': CHECKS,
    'spec.healthCheck.active.unhealthyThreshold': CHECKS,
    'spec.healthCheck.active.healthyThreshold': CHECKS,
    'spec.healthCheck.passive.consecutiveFailures': GOLDEN,
    'spec.healthCheck.passive.openFor': GOLDEN,
    'spec.healthCheck.passive.maxOpen': GOLDEN,
    'spec.healthCheck.passive.rateLimitCooldown': GOLDEN,
    'spec.allowedNamespaces.from': GOLDEN,
    'spec.allowedNamespaces.selector.matchLabels{}': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].key': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].operator': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].values[]': SELECTOR,
    'spec.allowedNamespaces.names[]': SELECTOR,
    'spec.suspended': 'fixtures/compile/provider-out-of-service.in.yaml',
  },
  ModelRoute: {
    'spec.model': GOLDEN,
    'spec.aliases[]': GOLDEN,
    'spec.displayName': MODELS,
    'spec.description': MODELS,
    'spec.ownedBy': GOLDEN,
    'spec.visibility': GOLDEN,
    'spec.allowedNamespaces.from': GOLDEN,
    'spec.allowedNamespaces.selector.matchLabels{}': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].key': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].operator': SELECTOR,
    'spec.allowedNamespaces.selector.matchExpressions[].values[]': SELECTOR,
    'spec.allowedNamespaces.names[]': SELECTOR,
    'spec.suspended': 'fixtures/compile/bad-targets.in.yaml',
    'spec.apis[]': GOLDEN,
    'spec.capabilities[]': MODELS,
    'spec.limits.requestsPerMinute': LIMITS,
    'spec.limits.tokensPerMinute': LIMITS,
    'spec.limits.maxConcurrentRequests': LIMITS,
    'spec.contextLength': MODELS,
    'spec.maxOutputTokens': MODELS,
    'spec.pricing.currency': GOLDEN,
    'spec.pricing.inputPerMillion': GOLDEN,
    'spec.pricing.cachedInputPerMillion': GOLDEN,
    'spec.pricing.cacheWritePerMillion': GOLDEN,
    'spec.pricing.cacheWriteHourPerMillion': GOLDEN,
    'spec.pricing.outputPerMillion': GOLDEN,
    'spec.pricing.reasoningPerMillion': GOLDEN,
    'spec.unpriced': GOLDEN,
    'spec.pricing.perRequest': GOLDEN,
    'spec.pricing.provisioned': 'operator/compile/cloud-prices.test.ts',
    'spec.pricing.tiers[].aboveInputTokens': GOLDEN,
    'spec.pricing.tiers[].inputPerMillion': GOLDEN,
    'spec.pricing.tiers[].cachedInputPerMillion': GOLDEN,
    'spec.pricing.tiers[].cacheWritePerMillion': GOLDEN,
    'spec.pricing.tiers[].cacheWriteHourPerMillion': GOLDEN,
    'spec.pricing.tiers[].outputPerMillion': GOLDEN,
    'spec.pricing.tiers[].reasoningPerMillion': GOLDEN,
    'spec.delivery': DELIVERY,
    'spec.holdBack.events': DELIVERY,
    'spec.holdBack.duration': DELIVERY,
    'spec.upstreamStreaming': 'flow/upstream-streaming.test.ts',
    'spec.responseModel': 'flow/response-model.test.ts',
    'spec.timeouts.connect': GOLDEN,
    'spec.timeouts.firstEvent': DEADLINES,
    'spec.timeouts.lastFirstEvent': FAULTS,
    'spec.timeouts.liveness': DEADLINES,
    'spec.timeouts.progress': DEADLINES,
    'spec.timeouts.total': FAULTS,
    'spec.timeouts.clientWrite': SLOW,
    'spec.targets[].name': GOLDEN,
    'spec.targets[].providerRef.group': 'operator/resources/refusals.ts',
    'spec.targets[].providerRef.kind': 'operator/resources/refusals.ts',
    'spec.targets[].providerRef.name': GOLDEN,
    'spec.targets[].providerRef.namespace': GOLDEN,
    'spec.targets[].upstreamModel': GOLDEN,
    'spec.targets[].priority': GOLDEN,
    'spec.targets[].weight': GOLDEN,
    'spec.targets[].pricing.currency': GOLDEN,
    'spec.targets[].pricing.inputPerMillion': GOLDEN,
    'spec.targets[].pricing.cachedInputPerMillion': GOLDEN,
    'spec.targets[].pricing.cacheWritePerMillion': GOLDEN,
    'spec.targets[].pricing.cacheWriteHourPerMillion': GOLDEN,
    'spec.targets[].pricing.outputPerMillion': GOLDEN,
    'spec.targets[].pricing.reasoningPerMillion': GOLDEN,
    'spec.targets[].pricing.perRequest': GOLDEN,
    'spec.targets[].pricing.provisioned': 'operator/compile/cloud-prices.test.ts',
    'spec.targets[].pricing.tiers[].aboveInputTokens': GOLDEN,
    'spec.targets[].pricing.tiers[].inputPerMillion': GOLDEN,
    'spec.targets[].pricing.tiers[].cachedInputPerMillion': GOLDEN,
    'spec.targets[].pricing.tiers[].cacheWritePerMillion': GOLDEN,
    'spec.targets[].pricing.tiers[].cacheWriteHourPerMillion': GOLDEN,
    'spec.targets[].pricing.tiers[].outputPerMillion': GOLDEN,
    'spec.targets[].pricing.tiers[].reasoningPerMillion': GOLDEN,
    'spec.targets[].timeouts.connect': GOLDEN,
    'spec.targets[].timeouts.firstEvent': DEADLINES,
    'spec.targets[].timeouts.lastFirstEvent': FAULTS,
    'spec.targets[].timeouts.liveness': DEADLINES,
    'spec.targets[].timeouts.progress': DEADLINES,
    'spec.targets[].timeouts.total': FAULTS,
    'spec.targets[].timeouts.clientWrite': SLOW,
    'spec.targets[].api': 'fixtures/compile/dialects.in.yaml',
    'spec.targets[].parameters': GOLDEN,
    'spec.drill.schedule': DRILLS,
    'spec.drill.fault': DRILLS,
    'spec.drill.takeoverWithin': DRILLS,
    'spec.failover.retryOn[]': NEXT_STEP,
    'spec.failover.maxAttempts': NEXT_STEP,
    'spec.failover.attemptsPerTarget': NEXT_STEP,
    'spec.failover.backoff.base': NEXT_STEP,
    'spec.failover.backoff.max': NEXT_STEP,
    'spec.failover.honorRetryAfter': NEXT_STEP,
    'spec.failover.affinity': 'flow/affinity.test.ts',
  },
  ApiKey: {
    // For people alone: that it is kept is its effect.
    'spec.displayName': 'operator/resources/crd.test.ts',
    'spec.owner.name': GOLDEN,
    'spec.owner.email': GOLDEN,
    'spec.owner.team': GOLDEN,
    'spec.disabled': KEYS,
    'spec.expiresAt': KEYS,
    'spec.secret.name': GOLDEN,
    'spec.secret.key': GOLDEN,
    'spec.secret.labels{}': ISSUE,
    'spec.secret.annotations{}': ISSUE,
    'spec.secret.retain': PLAN,
    'spec.rotation.interval': PLAN,
    'spec.rotation.overlap': PLAN,
    'spec.rotation.trigger': PLAN,
    'spec.imports[].sha256': KEYS,
    'spec.imports[].hint': 'fixtures/compile/key-lifecycle.in.yaml',
    'spec.imports[].notAfter': KEYS,
    'spec.models.allow[]': GOLDEN,
    'spec.models.deny[]': GOLDEN,
    'spec.attributes{}': GOLDEN,
    'spec.metadata{}': KEYS,
    'spec.limits.requestsPerMinute': LIMITS,
    'spec.limits.tokensPerMinute': LIMITS,
    'spec.limits.maxConcurrentRequests': LIMITS,
    'spec.budgets[].period': BUDGETS,
    'spec.budgets[].limit': BUDGETS,
    'spec.budgets[].currency': GOLDEN,
    'spec.budgets[].action': GOLDEN,
    'spec.budgets[].warnPercent': GOLDEN,
  },
  TenantPolicy: {
    'spec.namespaces.names[]': POLICIES,
    'spec.namespaces.selector.matchLabels{}': POLICIES,
    'spec.namespaces.selector.matchExpressions[].key': SELECTOR,
    'spec.namespaces.selector.matchExpressions[].operator': SELECTOR,
    'spec.namespaces.selector.matchExpressions[].values[]': SELECTOR,
    'spec.role': POLICIES,
    'spec.budgets[].period': POLICIES,
    'spec.budgets[].limit': POLICIES,
    'spec.budgets[].currency': GOLDEN,
    'spec.budgets[].action': POLICIES,
    'spec.budgets[].warnPercent': POLICIES,
    'spec.limits.requestsPerMinute': POLICIES,
    'spec.limits.tokensPerMinute': POLICIES,
    'spec.limits.maxConcurrentRequests': POLICIES,
    'spec.egress.allow[]': POLICIES,
    'spec.modelPrefixes[]': POLICIES,
    'spec.cloudIdentities[].type': IDENTITY,
    'spec.cloudIdentities[].roles[]': IDENTITY,
  },
};

const SPECS: readonly (readonly [Resource['kind'], CrdSchema])[] = [
  ['Provider', structural(providerResource.spec)],
  ['ModelRoute', structural(modelRouteResource.spec)],
  ['ApiKey', structural(apiKeyResource.spec)],
  ['TenantPolicy', structural(tenantPolicyResource.spec)],
];

function leaves(schema: CrdSchema, path: string): string[] {
  if (schema.items !== undefined) return leaves(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) return [`${path}{}`];
  if (schema.properties === undefined) return [path];
  return Object.entries(schema.properties).flatMap(([name, child]) => leaves(child, `${path}.${name}`));
}

/** A row without values refuses all below it; one with values speaks about that leaf alone. */
function isRefused(kind: Resource['kind'], leaf: string): boolean {
  return UNSUPPORTED.some(
    ({ kind: of, path, values }) =>
      of === kind &&
      (values === undefined
        ? leaf === path || leaf.startsWith(`${path}.`) || leaf.startsWith(`${path}[`)
        : leaf === path),
  );
}

describe.each(SPECS)('%s', (kind, spec) => {
  const all = leaves(spec, 'spec');

  test('every field has an effect or is refused', () => {
    const neither = all.filter((leaf) => !Object.hasOwn(ACTS[kind], leaf) && !isRefused(kind, leaf));
    expect(neither).toEqual([]);
  });

  test('every field in the table exists', () => {
    expect(Object.keys(ACTS[kind]).filter((leaf) => !all.includes(leaf))).toEqual([]);
  });

  test.each(Object.entries(ACTS[kind]))(
    'what shows that %s acts is there, and speaks of it: %s',
    (leaf, shown) => {
      const path = join(TESTS, shown);
      const name = (leaf.split('.').at(-1) ?? '').replace(/\[\]|\{\}/g, '').toLowerCase();
      expect(existsSync(path), `test/${shown} does not exist`).toBe(true);
      // The table has names of its own that hold it: connectMs, backoffBaseMs.
      if (statSync(path).isFile()) expect(readFileSync(path, 'utf8').toLowerCase()).toContain(name);
    },
  );

  test('every row about fields without effect names an existing field and its values', () => {
    const known = (path: string) =>
      all.some((leaf) => leaf === path || leaf.startsWith(`${path}.`) || leaf.startsWith(`${path}[`));
    expect(UNSUPPORTED.filter((row) => row.kind === kind && !known(row.path))).toEqual([]);
    expect(UNSUPPORTED.filter((row) => row.values !== undefined && row.instead === undefined)).toEqual([]);
  });
});

describe('a value without effect is refused by name', () => {
  test('of a field that otherwise has one', () => {
    const row = {
      kind: 'ModelRoute',
      path: 'spec.delivery',
      values: ['Assured'],
      instead: 'Stream',
    } as const;
    expect(findUnsupported('ModelRoute', { delivery: 'Assured' }, [row])).toEqual([
      { path: 'spec.delivery', message: 'is Assured, which has no effect in this version; use Stream' },
    ]);
    expect(findUnsupported('ModelRoute', { delivery: 'Stream' }, [row])).toEqual([]);
  });

  test('an empty list or object is accepted', () => {
    expect(findUnsupported('ModelRoute', { responseModel: {} })).toEqual([]);
  });

  test.each([
    ['OpenAI', { region: 'eu' }, 'knows organization and project'],
    ['Mistral', { organization: 'o' }, 'has no options'],
    ['AzureOpenAI', { apiVersion: 'v1' }, 'must be preview, or a date'],
    ['AzureOpenAI', { project: 'p' }, 'the type AzureOpenAI knows apiVersion'],
  ])('options that %s does not know', (type, options, part) => {
    const parsed = parseProvider(provider({ type, baseURL: 'https://models.example.com', options }));
    expect(parsed.ok && findUnknownOptions(parsed.value.spec)[0]?.message).toContain(part);
  });
});
