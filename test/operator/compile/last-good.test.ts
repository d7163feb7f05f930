// An object was good, and is edited into something that cannot be served, or loses what it names: does its last good form stay,
// and does everything leave at once that somebody has taken back?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import { type CompileResult, createCompiler } from '../../../operator/compile/compile.ts';
import type { Verdict } from '../../../operator/compile/verdict.ts';
import type { RawObject, SecretRecord, Snapshot } from '../../../operator/watch/snapshot.ts';
import { namespace, provider, route, secret, snapshot, target } from '../make.ts';
import { NOW_MS } from './support.ts';
import { startTerm } from './term.ts';

const HOUR_MS = 3_600_000;
const BOUND = { annotations: { 'penstock.dev/allowed-hosts': 'llm.example,10.1.0.1' } };
const at = (baseURL: string) => ({ type: 'OpenAICompatible', apis: ['ChatCompletions'], baseURL });

/** A Provider of its own address with one key, a route to it, a second route; all that a case changes is in it. */
const GOOD: Snapshot = snapshot({
  providers: [provider(at('https://llm.example/v1'), { uid: 'p', generation: 1 })],
  modelRoutes: [
    route({}, { uid: 'r', generation: 1, creationTimestamp: '2026-02-01T00:00:00Z' }),
    route(
      { model: 'other' },
      { name: 'other', uid: 'o', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    ),
  ],
  secrets: [secret(BOUND)],
  namespaces: ['team-a', 'team-b', 'platform'].map((name) => namespace(name)),
});

type Change = (before: Snapshot) => Partial<Snapshot>;

function edited(object: RawObject | undefined, spec: object, meta: object = {}): RawObject {
  if (object === undefined) throw new Error('there is no such object');
  const { metadata } = object;
  const generation = Number(metadata.generation) + 1;
  return {
    ...object,
    metadata: { ...metadata, generation, ...meta },
    spec: { ...(object.spec as object), ...spec },
  };
}

const editProvider =
  (spec: object, meta: object = {}): Change =>
  ({ providers: [first, ...rest] }) => ({ providers: [edited(first, spec, meta), ...rest] });
const editRoute =
  (spec: object, meta: object = {}): Change =>
  ({ modelRoutes: [first, ...rest] }) => ({ modelRoutes: [edited(first, spec, meta), ...rest] });
const withSecret =
  (fields: Partial<SecretRecord>): Change =>
  () => ({ secrets: [secret({ ...BOUND, ...fields })] });
const nothing: Change = () => ({});
const BAD = { bogus: true };
const disabledKey = {
  auth: { keys: [{ name: 'main', secretRef: { name: 'openai', key: 'key' }, disabled: true }] },
};
const keyOfSecret = (name: string) => ({
  auth: { keys: [{ name: 'main', secretRef: { name, key: 'key' } }] },
});

function apply(before: Snapshot, ...changes: readonly Change[]): Snapshot {
  let now = before;
  for (const change of changes) now = { ...now, ...change(now) };
  return now;
}

function verdictOn(kind: Verdict['kind'], { verdicts }: CompileResult, name?: string): Verdict {
  const found = verdicts.find((one) => one.kind === kind && (name === undefined || one.name === name));
  if (found === undefined) throw new Error(`no verdict on ${kind} ${name}`);
  return found;
}

test('the form that stays is that of the table in use, also if only a Secret has changed since', () => {
  const run = startTerm();
  run(GOOD);
  const rotated = apply(GOOD, withSecret({ data: { key: 'sk-new' } }));
  run(rotated);
  const { table } = run(apply(rotated, () => ({ secrets: [] })));
  expect(table.credentials.map(({ value }) => value)).toEqual(['sk-new']);
});

test('a form that names its APIs serves by these, also if the present form leaves them to the models', () => {
  const baseURL = 'https://bedrock-runtime.us-east-1.amazonaws.com';
  const ofBedrock = (spec: object, generation: number): Snapshot =>
    snapshot({
      providers: [provider({ type: 'Bedrock', baseURL, ...spec }, { uid: 'p', generation })],
      // By its name: Messages alone.
      modelRoutes: [route({ targets: [target({ upstreamModel: 'anthropic.claude-sonnet-5' })] })],
      secrets: [secret({ annotations: { 'penstock.dev/allowed-hosts': new URL(baseURL).host } })],
    });
  const run = startTerm();
  const { routes } = run(ofBedrock({ apis: ['ChatCompletions'] }, 1)).table;
  expect(routes.map(({ targets }) => targets[0]?.dialects)).toEqual([['openai-chat']]);
  expect(run(ofBedrock(keyOfSecret('gone'), 2)).table.routes).toEqual(routes);
});

describe('the last good form stays if', () => {
  test.each<[string, 'Provider' | 'ModelRoute', string, ...Change[]]>([
    ['a field is unknown', 'Provider', 'Invalid', editProvider(BAD)],
    ['its Secret is gone', 'Provider', 'SecretNotFound', () => ({ secrets: [] })],
    ['its Secret lost the key', 'Provider', 'KeyNotFound', withSecret({ data: {} })],
    [
      'its Secret cannot be read',
      'Provider',
      'SecretValueInvalid',
      withSecret({ data: { key: 'a\u0000b' } }),
    ],
    [
      'an edit names no Secret that is there',
      'Provider',
      'SecretNotFound',
      editProvider(keyOfSecret('typo')),
    ],
    [
      'an edit names a Secret that is not shared',
      'Provider',
      'SecretNotOptedIn',
      ({ secrets }) => ({ secrets: [...secrets, secret({ name: 'mine', labels: {} })] }),
      editProvider(keyOfSecret('mine')),
    ],
    [
      'an edit names a host that the Secret is not for',
      'Provider',
      'HostNotAllowed',
      editProvider(at('https://typo.example/v1')),
    ],
    [
      'an edit names an address that may not be reached',
      'Provider',
      'EndpointNotAllowed',
      editProvider(at('http://127.0.0.1/v1')),
    ],
    [
      'an edit shares it with others, which it may not',
      'Provider',
      'NotPermitted',
      editProvider({ allowedNamespaces: { from: 'All' } }),
    ],
    ['a field is unknown', 'ModelRoute', 'Invalid', editRoute(BAD)],
    [
      'an edit names no Provider that is there',
      'ModelRoute',
      'NoUsableTarget',
      editRoute({ targets: [target({ providerRef: { name: 'typo' } })] }),
    ],
    ['an edit takes the id of an older one', 'ModelRoute', 'ModelConflict', editRoute({ model: 'other' })],
    [
      'an edit takes an id of the platform',
      'ModelRoute',
      'ReservedPrefix',
      editRoute({ model: 'penstock/x' }),
    ],
    [
      'an edit makes it public, which it may not be',
      'ModelRoute',
      'NotPermitted',
      editRoute({ visibility: 'Public', allowedNamespaces: { from: 'All' } }),
    ],
  ])('%s: %s, %s', (_, kind, reason, ...changes) => {
    const run = startTerm();
    const good = run(GOOD);
    const later = run(apply(GOOD, ...changes), NOW_MS + 5_000);
    expect(later.table).toEqual(good.table);
    const verdict = verdictOn(kind, later, kind === 'ModelRoute' ? 'chat' : undefined);
    expect(verdict).toMatchObject({
      isInTable: true,
      held: { sinceMs: NOW_MS + 5_000, untilMs: NOW_MS + 5_000 + HOUR_MS, generation: 1 },
    });
    const fault = verdict.conditions.find(({ status }) => status === 'False');
    expect(fault?.reason).toBe(reason);
    const degraded = verdict.conditions.find(({ type }) => type === 'Degraded');
    expect(degraded?.reason).toBe('LastKnownGood');
    expect(degraded?.message).toContain('generation 1 serves until 2026-06-01T01:00:05Z');
    expect(degraded?.message).toContain(fault?.message);
    const stalled = verdict.conditions.find(({ type }) => type === 'Stalled');
    if (fault?.type === 'Accepted') {
      expect(stalled?.message).toMatch(
        /^correct \S.*; generation 1 serves until 2026-06-01T01:00:05Z, then the object leaves service$/,
      );
    }
    expect(later.staleAtMs).toBe(NOW_MS + 5_000 + HOUR_MS);
    // What is right goes on being reported as it was: the other route, and the route to a Provider that is held.
    const others = (result: CompileResult) =>
      result.verdicts.filter(({ name, kind: of }) => of !== kind || name === 'other');
    expect(others(later)).toEqual(others(good));
  });
});

const opened: Change = ({ platform }) => ({
  platform: { ...platform, egressAllow: [{ cidr: '10.1.0.0/16', namespaces: ['*'] }] },
});
const closed: Change = ({ platform }) => ({ platform: { ...platform, egressAllow: [] } });
const platformsOwn: Change = ({ platform }) => ({
  platform: { ...platform, platformNamespaces: ['team-a'] },
});
const nobodysOwn: Change = ({ platform }) => ({ platform: { ...platform, platformNamespaces: [] } });

describe('it leaves service at once if', () => {
  test.each<[string, 'Provider' | 'ModelRoute', Change, ...Change[]]>([
    ['it is suspended', 'Provider', nothing, editProvider({ suspended: true })],
    ['it is suspended and wrong', 'Provider', nothing, editProvider({ ...BAD, suspended: true })],
    [
      'it is being deleted',
      'Provider',
      nothing,
      editProvider(BAD, { deletionTimestamp: '2026-06-01T00:00:00Z' }),
    ],
    ['it was made again, and wrong', 'Provider', nothing, editProvider(BAD, { uid: 'another' })],
    ['its only key is disabled', 'Provider', nothing, editProvider(disabledKey)],
    [
      'its only key is disabled and it is wrong',
      'Provider',
      nothing,
      editProvider({ ...BAD, ...disabledKey }),
    ],
    ['its Secret is no longer shared', 'Provider', nothing, withSecret({ labels: {} })],
    [
      'its Secret is no longer shared, and it is wrong',
      'Provider',
      nothing,
      editProvider(BAD),
      withSecret({ labels: {} }),
    ],
    [
      'its Secret is no longer for that host, and it is wrong',
      'Provider',
      nothing,
      editProvider(BAD),
      withSecret({ annotations: {} }),
    ],
    [
      'its Secret is of another type now, and it is wrong',
      'Provider',
      nothing,
      editProvider(BAD),
      withSecret({ type: 'kubernetes.io/tls' }),
    ],
    [
      'its address may not be reached any more, and it is wrong',
      'Provider',
      (before) => apply(before, opened, editProvider(at('http://10.1.0.1/v1'))),
      editProvider(BAD),
      closed,
    ],
    ['it is suspended', 'ModelRoute', nothing, editRoute({ suspended: true })],
    ['it is suspended and wrong', 'ModelRoute', nothing, editRoute({ ...BAD, suspended: true })],
    [
      'it is being deleted',
      'ModelRoute',
      nothing,
      editRoute(BAD, { deletionTimestamp: '2026-06-01T00:00:00Z' }),
    ],
    ['it was made again, and wrong', 'ModelRoute', nothing, editRoute(BAD, { uid: 'another' })],
    [
      'its Provider is suspended, and it is wrong',
      'ModelRoute',
      nothing,
      editRoute(BAD),
      editProvider({ suspended: true }),
    ],
    [
      'its Provider is gone, and it is wrong',
      'ModelRoute',
      nothing,
      editRoute(BAD),
      () => ({ providers: [] }),
    ],
    [
      'its id is the platform’s, its namespace is so no more, and it is wrong',
      'ModelRoute',
      (before) => apply(before, platformsOwn, editRoute({ model: 'penstock/chat' })),
      editRoute(BAD),
      nobodysOwn,
    ],
    [
      'it is public, its namespace is the platform’s no more, and it is wrong',
      'ModelRoute',
      (before) =>
        apply(before, platformsOwn, editRoute({ visibility: 'Public', allowedNamespaces: { from: 'All' } })),
      editRoute(BAD),
      nobodysOwn,
    ],
  ])('%s: %s', (_, kind, before, ...changes) => {
    const run = startTerm();
    const good = apply(GOOD, before);
    const list = kind === 'Provider' ? 'providers' : 'routes';
    const id = kind === 'Provider' ? 'team-a/openai' : 'team-a/chat';
    const ids = ({ table }: CompileResult) => table[list].map((entry) => entry.id);
    expect(ids(run(good))).toContain(id);
    const later = run(apply(good, ...changes));
    expect(ids(later)).not.toContain(id);
    expect(later.verdicts.filter(({ held }) => held !== undefined)).toEqual([]);
  });

  test('a Provider of another namespace withdraws its permission, and the route is wrong', () => {
    const shared = apply(
      GOOD,
      (all) => ({
        providers: [provider({ allowedNamespaces: { from: 'All' } }, { namespace: 'platform', uid: 'p' })],
        secrets: [...all.secrets, secret({ namespace: 'platform' })],
      }),
      editRoute({ targets: [target({ providerRef: { name: 'openai', namespace: 'platform' } })] }),
    );
    const run = startTerm();
    expect(run(shared).table.routes).toHaveLength(1);
    const wrong = apply(shared, editRoute(BAD));
    expect(run(wrong).table.routes).toHaveLength(1);
    expect(run(apply(wrong, editProvider({ allowedNamespaces: { from: 'Same' } }))).table.routes).toEqual([]);
  });

  test('a route withdraws its permission for others, though it is wrong', () => {
    const run = startTerm();
    const shared = apply(GOOD, platformsOwn, editRoute({ allowedNamespaces: { from: 'All' } }));
    expect(run(shared).table.routes[0]?.sharedWith).toBe('*');
    const wrong = run(apply(shared, editRoute({ ...BAD, allowedNamespaces: { from: 'Same' } })));
    expect(wrong.table.routes[0]?.sharedWith).toEqual([]);
  });
});

describe('during the hour', () => {
  const wrong = apply(GOOD, editProvider(BAD), editRoute(BAD));

  test('a new value of its Secret is used', () => {
    const run = startTerm();
    run(GOOD);
    const { table } = run(apply(wrong, withSecret({ data: { key: 'sk-rotated' } })));
    expect(table.credentials.map(({ value }) => value)).toEqual(['sk-rotated']);
  });

  test('it leaves service after an hour, and not before; another run does not extend the hour', () => {
    const run = startTerm();
    run(GOOD);
    run(wrong);
    expect(run(wrong, NOW_MS + HOUR_MS - 1).table.providers).toHaveLength(1);
    const over = run(wrong, NOW_MS + HOUR_MS);
    expect(over.table.providers).toEqual([]);
    expect(over.table.routes).toEqual([]);
    expect(over.verdicts.filter(({ held }) => held !== undefined)).toEqual([]);
    expect(run(wrong, NOW_MS + HOUR_MS + 1).table.providers).toEqual([]);
  });

  test('another wrong edit does not extend the hour; a right one ends it', () => {
    const run = startTerm();
    run(GOOD);
    run(wrong);
    const again = run(apply(wrong, editProvider({ worse: 1 })), NOW_MS + 60_000);
    expect(verdictOn('Provider', again).held).toMatchObject({ sinceMs: NOW_MS, generation: 1 });
    const right = run(GOOD, NOW_MS + 120_000);
    expect(verdictOn('Provider', right).held).toBeUndefined();
    const later = run(wrong, NOW_MS + 180_000);
    expect(verdictOn('Provider', later).held).toMatchObject({ sinceMs: NOW_MS + 180_000 });
  });

  test('no other route gets its id while it serves, older or younger; then the oldest one gets it', () => {
    const claiming =
      (creationTimestamp: string): Change =>
      ({ modelRoutes }) => ({
        modelRoutes: [...modelRoutes, route({}, { name: 'late', uid: 'l', creationTimestamp })],
      });
    for (const time of ['2026-01-15T00:00:00Z', '2026-03-01T00:00:00Z']) {
      const run = startTerm();
      run(GOOD);
      const brokenRoute = apply(GOOD, editRoute(BAD), claiming(time));
      const served = (nowMs: number) =>
        run(brokenRoute, nowMs)
          .table.routes.filter(({ model }) => model === 'chat')
          .map(({ id }) => id);
      expect(served(NOW_MS)).toEqual(['team-a/chat']);
      expect(served(NOW_MS + HOUR_MS - 1)).toEqual(['team-a/chat']);
      expect(served(NOW_MS + HOUR_MS)).toEqual(['team-a/late']);
    }
  });

  test('a route whose edit lost a conflict gives way to the holder of the lost id', () => {
    const run = startTerm();
    const good = run(GOOD);
    // It lost "other"; a younger one, which had no chance before, must not get "chat" in the meantime.
    const { table } = run(
      apply(GOOD, editRoute({ model: 'other' }), ({ modelRoutes }) => ({
        modelRoutes: [
          ...modelRoutes,
          route({}, { name: 'young', uid: 'y', creationTimestamp: '2026-03-01T00:00:00Z' }),
        ],
      })),
    );
    expect(table.routes).toEqual(good.table.routes);
  });

  test('with a holding time of 0 nothing is held', () => {
    const run = startTerm(0);
    run(GOOD);
    expect(run(wrong).table.providers).toEqual([]);
  });

  test('an object that was never good is left out', () => {
    const { table } = startTerm()(wrong);
    expect(table.providers).toEqual([]);
  });
});

// Any sequence of edits, one object at a time: good forms, wrong ones, a Secret that comes and goes.
const anyEdit = fc.oneof(
  fc.record({ what: fc.constant('provider'), isBad: fc.boolean(), weight: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ what: fc.constant('route'), isBad: fc.boolean(), weight: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ what: fc.constant('secret'), isBad: fc.boolean(), weight: fc.constant(0) }),
);

test('after any edits, wrong objects serve their last good form, and all others as without them', () => {
  fc.assert(
    fc.property(fc.array(anyEdit, { minLength: 1, maxLength: 8 }), (edits) => {
      const run = startTerm();
      let now = GOOD;
      let last = run(now).table;
      for (const { what, isBad, weight } of edits) {
        const bad = isBad ? BAD : { bogus: undefined };
        if (what === 'provider') {
          const keys = [{ name: 'main', weight, secretRef: { name: 'openai', key: 'key' } }];
          now = apply(now, editProvider({ auth: { keys }, ...bad }));
        } else if (what === 'route') {
          now = apply(now, editRoute({ targets: [target({ weight })], ...bad }));
        } else {
          now = apply(now, isBad ? () => ({ secrets: [] }) : withSecret({}));
        }
        const { table, verdicts } = run(now);
        const heldOf = (kind: string) =>
          verdicts.some((one) => one.kind === kind && one.name !== 'other' && one.held !== undefined);
        const fresh = createCompiler()(now, NOW_MS).table;
        expect(table.providers).toEqual(heldOf('Provider') ? last.providers : fresh.providers);
        expect(table.credentials).toEqual(heldOf('Provider') ? last.credentials : fresh.credentials);
        const chat = ({ routes }: TableContent) => routes.find(({ id }) => id === 'team-a/chat');
        expect(chat(table)).toEqual(heldOf('ModelRoute') ? chat(last) : (chat(fresh) ?? chat(last)));
        // Nothing here was ever taken back, so nothing leaves.
        expect(table.routes.map(({ id }) => id)).toEqual(['team-a/chat', 'team-a/other']);
        last = table;
      }
    }),
    { numRuns: 200 },
  );
});
