// Do tools that wait read every object rightly? What is good ends as current, what only a human can mend as failed, and nothing
// is in progress for ever.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import { rootSchema } from '../../../operator/resources/crd.ts';
import { modelRouteResource } from '../../../operator/resources/model-route.ts';
import { decideStatus, type StatusFacts } from '../../../operator/status/decide-status.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { kstatusOf } from '../../support/kstatus.ts';
import { apiKey, PLATFORM, provider, type RawManifest, route, secret, snapshotOf, target } from '../make.ts';
import { fleet, judge, look, NOW_MS, runs, say, withStatus, written } from './status-support.ts';

const ready = { pods: fleet(runs(7), runs(7)), since: 7 };
const hourMs = 3_600_000;

/** The statuses that are written one after the other, and when, while nothing else changes. */
function history(
  object: RawObject,
  verdict: Verdict,
  facts: Partial<StatusFacts> = {},
  fromMs = NOW_MS,
): { readonly atMs: number; readonly object: RawObject }[] {
  const seen: { atMs: number; object: RawObject }[] = [];
  let [nowMs, current] = [fromMs, object];
  let waitingSinceMs: number | undefined;
  for (;;) {
    const decision = decideStatus({ ...ready, object: current, verdict, nowMs, waitingSinceMs, ...facts });
    if (decision.type === 'write') {
      current = withStatus(current, decision.status);
      seen.push({ atMs: nowMs - fromMs, object: current });
    }
    const untilMs = decision.type === 'same' ? undefined : decision.untilMs;
    waitingSinceMs = untilMs === undefined ? undefined : (waitingSinceMs ?? nowMs);
    const nextMs = untilMs ?? (decision.type === 'wait' ? undefined : decision.lookAgainMs);
    if (nextMs === undefined) return seen;
    expect(nextMs).toBeGreaterThan(nowMs);
    nowMs = nextMs;
    if (nowMs > fromMs + hourMs) throw new Error('it is written again and again');
  }
}

const readings = (...args: Parameters<typeof history>) =>
  history(...args).map(({ atMs, object }) => `${atMs / 1000} s ${kstatusOf(object)}`);

const folder = join(import.meta.dirname, '../../fixtures/compile');
const fixtures = readdirSync(folder).filter((file) => file.endsWith('.in.yaml'));

describe.each(fixtures)('of %s', (file) => {
  const [settings, ...manifests] = parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map(
    (document) => document.toJS() as RawManifest & { now?: string; platform?: object },
  );
  const numbered = manifests.map((one) => ({ ...one, metadata: { generation: 3, ...one.metadata } }));
  const snapshot = snapshotOf(numbered, { ...PLATFORM, ...settings?.platform });
  const nowMs = Date.parse(settings?.now ?? '');
  const { verdicts } = createCompiler()(snapshot, nowMs);
  const objects = [...snapshot.providers, ...snapshot.modelRoutes, ...snapshot.apiKeys];
  const cases = verdicts.map((verdict): [string, Verdict, RawObject] => {
    const { kind, namespace, name } = verdict;
    const object = objects.find(
      (one) => one.kind === kind && one.metadata.namespace === namespace && one.metadata.name === name,
    );
    if (object === undefined) throw new Error(`no ${kind} ${namespace}/${name}`);
    return [`${kind} ${namespace}/${name}`, verdict, object];
  });

  test.each(cases)('%s ends in its expected state', (_, verdict, object) => {
    const statuses = history(object, verdict, {}, nowMs);
    for (const { object: one } of statuses) {
      const status = one.status as { conditions: { type: string; observedGeneration?: number }[] };
      const types = status.conditions.map(({ type }) => type);
      expect(types.includes('Reconciling') && types.includes('Stalled')).toBe(false);
      const { generation } = object.metadata;
      expect(status).toMatchObject({ observedGeneration: generation });
      for (const { observedGeneration } of status.conditions) expect(observedGeneration).toBe(generation);
    }
    const last = statuses.at(-1)?.object ?? object;
    const isReady = say(last.status as never, 'Ready')?.startsWith('True') === true;
    expect(kstatusOf(last)).toBe(isReady ? 'Current' : 'Failed');
    // At once where it is good, in three steps at most where it is not.
    expect(statuses.length).toBeLessThanOrEqual(isReady ? 1 : 3);
  });
});

const PROVIDER = provider({}, { generation: 3 });
const PARTS = { providers: [PROVIDER], secrets: [secret()] };
const VERDICT = judge('Provider', PARTS);
const WITHOUT_SECRET = judge('Provider', { providers: [PROVIDER] });

describe('an object', () => {
  test('not yet seen by an operator is in progress, by the default of its schema', () => {
    const unseen = rootSchema(modelRouteResource).properties?.status?.default;
    expect(kstatusOf({ ...PROVIDER, status: unseen })).toBe('InProgress');
    // Without that it would be done before it began.
    expect(kstatusOf(PROVIDER)).toBe('Current');
  });

  test('that was edited is in progress until the operator has processed the edit', () => {
    const written = history(PROVIDER, VERDICT).at(-1)?.object;
    expect(kstatusOf(written)).toBe('Current');
    expect(kstatusOf({ ...written, metadata: { ...written?.metadata, generation: 4 } })).toBe('InProgress');
  });

  test('that no pod loads is in progress for ten minutes, and then failed', () => {
    const pods = fleet(runs(7), runs(6));
    expect(readings(PROVIDER, VERDICT, { pods })).toEqual([
      '5 s InProgress',
      '30 s InProgress',
      '605 s Failed',
    ]);
  });

  test('whose Secret may still appear is in progress for a minute, and then failed', () => {
    expect(readings(PROVIDER, WITHOUT_SECRET)).toEqual(['0 s InProgress', '60 s Failed']);
  });

  test('that is not accepted has failed at once: only a person can change that', () => {
    const wrong = judge('Provider', { providers: [provider({ type: 'No' }, { generation: 3 })] });
    expect(readings(PROVIDER, wrong)).toEqual(['0 s Failed']);
  });

  const SUSPENDED = judge('Provider', {
    ...PARTS,
    providers: [provider({ suspended: true }, { generation: 3 })],
  });
  test.each([
    ['Provider that is suspended', PROVIDER, SUSPENDED],
    [
      'ModelRoute that is suspended',
      route({}, { generation: 3 }),
      judge('ModelRoute', { ...PARTS, modelRoutes: [route({ suspended: true }, { generation: 3 })] }),
    ],
    [
      'ApiKey that is disabled',
      apiKey({}, { generation: 3 }),
      judge('ApiKey', { apiKeys: [apiKey({ disabled: true }, { generation: 3 })] }),
    ],
    [
      'ApiKey that was disabled before there was a key',
      apiKey({ imports: undefined }, { generation: 3 }),
      judge('ApiKey', { apiKeys: [apiKey({ imports: undefined, disabled: true }, { generation: 3 })] }),
    ],
  ])('%s is current, as its owner asked, once every pod has it out of service', (_, object, verdict) => {
    expect(readings(object, verdict)).toEqual(['0 s Current']);
    const pods = fleet(runs(7), runs(6));
    expect(readings(object, verdict, { pods }).slice(0, 1)).toEqual(['5 s InProgress']);
  });

  test('that is suspended and names a missing object has failed: it could not serve again', () => {
    const verdict = judge('Provider', {
      providers: [provider({ suspended: true }, { generation: 3 })],
    });
    expect(readings(PROVIDER, verdict)).toEqual(['0 s InProgress', '60 s Failed']);
  });

  test('that has failed is read by another leader, without a write', () => {
    const failed = history(PROVIDER, WITHOUT_SECRET).at(-1)?.object ?? PROVIDER;
    expect(look(failed, WITHOUT_SECRET, { nowMs: NOW_MS + hourMs })).toEqual({ type: 'same' });
  });

  test('that has failed is in progress again when something changes, and current in the end', () => {
    const failed = history(PROVIDER, WITHOUT_SECRET).at(-1)?.object ?? PROVIDER;
    const at = NOW_MS + hourMs;
    expect(readings(failed, VERDICT, { pods: fleet(runs(6)) }, at).slice(0, 1)).toEqual(['5 s InProgress']);
    expect(readings(failed, VERDICT, {}, at)).toEqual(['0 s Current']);
  });

  test('whose key is about to be written is unchanged for a minute, then in progress', () => {
    const key = apiKey({ imports: undefined }, { generation: 3 });
    const verdict = judge('ApiKey', { apiKeys: [key] });
    expect(readings(key, verdict)).toEqual(['60 s InProgress', '720 s Failed']);
  });

  test('with one working target of two is current', () => {
    const half = route(
      { targets: [target(), target({ name: 'gone', providerRef: { name: 'no' } })] },
      { generation: 3 },
    );
    const verdict = judge('ModelRoute', { ...PARTS, modelRoutes: [half] });
    expect(say(written(look(half, verdict)), 'Degraded')).toMatch(/^True/);
    expect(readings(half, verdict)).toEqual(['0 s Current']);
  });
});
