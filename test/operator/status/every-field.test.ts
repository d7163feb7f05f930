// Is every field of a status written? Each leaf of the three schemas is in some status that the operator writes.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import type { DrillReport } from '../../../operator/drills/drills.ts';
import { apiKeyResource, budgetsIn } from '../../../operator/resources/api-key.ts';
import { structural } from '../../../operator/resources/crd.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { modelRouteResource } from '../../../operator/resources/model-route.ts';
import { providerResource } from '../../../operator/resources/provider.ts';
import { fieldsOf } from '../../../operator/resources/reference.ts';
import type { ProviderHealth } from '../../../operator/status/health-of.ts';
import type { Exhausted } from '../../../operator/usage/exhausted.ts';
import { settleUsage } from '../../../operator/usage/settle-usage.ts';
import { apiKey, PLATFORM, type RawManifest, secret, snapshotOf } from '../make.ts';
import { makeSpent } from '../usage/make-spent.ts';
import { judge, look, NOW, NOW_MS, written } from './status-support.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/compile');
const RESOURCES = [providerResource, modelRouteResource, apiKeyResource];

const failing: ProviderHealth = {
  reason: 'Unhealthy',
  healthyPods: 0,
  totalPods: 2,
  failing: '*',
  calls: new Map(),
  unknownModels: new Set(),
  keys: new Map(),
  answeredKeys: new Set(),
  troubles: [
    { upstreamModel: 'm', reason: 'CircuitOpen', pods: [{ name: 'gateway-a', nextTryMs: NOW_MS }] },
    { key: 'main', reason: 'RateLimited', pods: [{ name: 'gateway-a' }] },
  ],
  lastError: 'GET it was answered with 500',
};

const usedUp: Exhausted = {
  period: 'Day',
  limit: '1',
  spend: '1.2',
  since: '2026-06-01',
  untilMs: NOW_MS + 1_000,
};

const drilled: DrillReport = {
  run: {
    atMs: NOW_MS,
    trigger: 'one',
    outcome: { id: 'run', isPassed: true, servedBy: 'spare', takeoverMs: 12, message: 'played' },
  },
};

/** On every object of the fixtures. */
function verdictsOfFixtures(): readonly Verdict[] {
  const files = readdirSync(FOLDER).filter((name) => name.endsWith('.in.yaml'));
  return files.flatMap((file) => {
    const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8'));
    const [settings, ...manifests] = documents.map((document) => document.toJS() as unknown);
    const { now, platform } = settings as { readonly now: string; readonly platform?: object };
    const snapshot = snapshotOf(manifests as RawManifest[], { ...PLATFORM, ...platform });
    return createCompiler()(snapshot, Date.parse(now)).verdicts;
  });
}

/** Fixtures hold no key that the operator has made. */
function verdictOnRotated(): Verdict {
  const object = { ...apiKey(), spec: { rotation: { interval: '48h' } } };
  const annotations = {
    'penstock.dev/issued-at': NOW,
    'penstock.dev/key-version': '4',
    'penstock.dev/rotation-trigger': 'one',
  };
  const data = { apiKey: `psk_${'k'.repeat(49)}` };
  const labels = { [ISSUED_SECRET_LABEL]: 'bot' };
  return judge('ApiKey', {
    apiKeys: [object],
    secrets: [secret({ name: 'bot-key', labels, annotations, data })],
  });
}

function usageWritten(): unknown {
  const budgets = budgetsIn({ budgets: [{ period: 'Day', limit: '1' }] });
  const spent = makeSpent({ atMs: NOW_MS, micros: 1 });
  const gateways = { ready: 2, haveStore: true };
  const decision = settleUsage({ budgets, spent, present: undefined, gateways, nowMs: NOW_MS });
  return decision.type === 'write' ? decision.usage : undefined;
}

/** Every path of their statuses, by kind, as they are while all upstreams fail. */
function pathsWritten(): ReadonlyMap<string, ReadonlySet<string>> {
  const paths = new Map<string, Set<string>>(RESOURCES.map(({ kind }) => [kind, new Set()]));
  for (const verdict of [...verdictsOfFixtures(), verdictOnRotated()]) {
    const names = verdict.kind === 'ModelRoute' ? verdict.targets.map(({ name }) => name) : [];
    const facts = {
      health: failing,
      failingTargets: new Map(names.map((name) => [name, { kind: 'failing' }] as const)),
      drill: drilled,
      nowMs: NOW_MS,
    };
    const held = { sinceMs: NOW_MS, untilMs: NOW_MS + 1_000 };
    const decisions = [
      look(apiKey(), { ...verdict, generation: 1 }, facts),
      look(apiKey(), { ...verdict, held }, { nowMs: NOW_MS, exhausted: [usedUp] }),
    ];
    for (const decision of decisions)
      if (decision.type === 'write')
        collect(written(decision), '', (path) => paths.get(verdict.kind)?.add(path));
  }
  // By its own manager.
  collect(usageWritten(), 'usage', (path) => paths.get('ApiKey')?.add(path));
  return paths;
}

function collect(value: unknown, path: string, add: (path: string) => void): void {
  if (Array.isArray(value)) for (const one of value) collect(one, `${path}[]`, add);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, child] of Object.entries(value)) {
      if (child !== undefined) collect(child, path === '' ? name : `${path}.${name}`, add);
    }
  } else add(path);
}

const found = pathsWritten();

describe.each(RESOURCES.map((resource) => [resource.kind, resource] as const))('%s', (kind, { status }) => {
  const all = fieldsOf(structural(status));
  const leaves = all
    .filter(({ schema }) => schema.properties === undefined && schema.items === undefined)
    // An older operator may still write what has another name now.
    .filter(({ schema }) => schema.description?.startsWith('Written by older operators') !== true)
    .map(({ path }) => path);
  test('every field of its status is written', () => {
    expect(leaves.filter((path) => found.get(kind)?.has(path) !== true)).toEqual([]);
  });
});
