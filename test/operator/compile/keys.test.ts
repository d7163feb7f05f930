// For how long, and for whom, does a key work?

import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CompileResult } from '../../../operator/compile/compile.ts';
import { ISSUED_SECRET_LABEL, issuedSecretLabelValue } from '../../../operator/resources/issued-secret.ts';
import { apiKey, PLATFORM, secret, snapshot } from '../make.ts';
import { compileOnce, condition, NOW_MS } from './support.ts';
import { startTerm } from './term.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);
const C = 'c'.repeat(64);
const DAY_MS = 86_400_000;
const at = (offsetMs: number) => new Date(NOW_MS + offsetMs).toISOString();
const KEY = 'psk_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghi';

function issued(fields: Parameters<typeof secret>[0] = {}, spec: object = {}, name = 'bot') {
  const object = { ...apiKey({}, { name }), spec };
  const labels = { [ISSUED_SECRET_LABEL]: issuedSecretLabelValue(name) };
  const secrets = [secret({ name: `${name}-key`, labels, data: { apiKey: KEY }, ...fields })];
  return compileOnce(snapshot({ apiKeys: [object], secrets }));
}

describe('an impossible time', () => {
  test.each([
    ['after the last of all', '+275760-09-13T00:00:00.000Z'],
    ['before the first', '-271821-04-20T00:00:00.000Z'],
  ])('%s, written by hand into the Secret of a key, is ignored', (_, time) => {
    const annotations = { 'penstock.dev/issued-at': time, 'penstock.dev/previous-not-after': time };
    const data = { apiKey: KEY, previousKey: KEY };
    const { verdicts } = issued({ annotations, data }, { rotation: { interval: '24h', overlap: '1h' } });
    expect(verdicts).toEqual(issued({ data }, { rotation: { interval: '24h', overlap: '1h' } }).verdicts);
  });

  test('in the spec is replaced by the latest possible one', () => {
    const { table, verdicts } = compileOnce(
      snapshot({ apiKeys: [apiKey({ expiresAt: '9999-12-31T23:59:59-23:59' })] }),
    );
    expect(table.keys).toHaveLength(1);
    expect(verdicts).toMatchObject([{ expiresAt: '9999-12-31T23:59:59.999Z' }]);
  });
});

describe('the end of a key', () => {
  // Gateways end it by their own clocks, which may be behind this one: until then it stays in the table, with its end.
  test.each([
    ['an hour away', 3_600_000, true, 'ExpiringSoon'],
    ['a millisecond away', 1, true, 'ExpiringSoon'],
    ['now', 0, true, 'Expired'],
    ['past for some', -599_999, true, 'Expired'],
    ['past on every clock', -600_000, false, 'Expired'],
  ] as const)('%s', (_, offsetMs, isInTable, type) => {
    const result = compileOnce(snapshot({ apiKeys: [apiKey({ expiresAt: at(offsetMs) })] }));
    expect(result.table.keys.map(({ notAfterMs }) => notAfterMs)).toEqual(
      isInTable ? [NOW_MS + offsetMs] : [],
    );
    expect(condition(result, 'ApiKey', 'team-a/bot', type).status).toBe('True');
  });

  test('further away than a week causes no condition, and gateways get the time', () => {
    const result = compileOnce(snapshot({ apiKeys: [apiKey({ expiresAt: at(8 * DAY_MS) })] }));
    expect(result.table.keys[0]?.notAfterMs).toBe(NOW_MS + 8 * DAY_MS);
    expect(result.verdicts[0]?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'Issued']);
  });

  test('the earlier of two ends counts', () => {
    const imports = [
      { sha256: A, notAfter: at(DAY_MS) },
      { sha256: B, notAfter: at(3 * DAY_MS) },
    ];
    const { table } = compileOnce(snapshot({ apiKeys: [apiKey({ imports, expiresAt: at(2 * DAY_MS) })] }));
    expect(table.keys.map(({ notAfterMs }) => notAfterMs)).toEqual([NOW_MS + DAY_MS, NOW_MS + 2 * DAY_MS]);
  });

  test('the compile announces the time of its next change', () => {
    const apiKeys = [
      apiKey({ expiresAt: at(10 * DAY_MS) }),
      apiKey({ expiresAt: at(DAY_MS), imports: [{ sha256: B }] }, { name: 'b' }),
    ];
    expect(compileOnce(snapshot({ apiKeys })).staleAtMs).toBe(NOW_MS + DAY_MS);
    expect(compileOnce(snapshot({ apiKeys }), NOW_MS + DAY_MS).staleAtMs).toBe(NOW_MS + DAY_MS + 600_000);
    expect(compileOnce(snapshot({ apiKeys }), NOW_MS + 2 * DAY_MS).staleAtMs).toBe(NOW_MS + 3 * DAY_MS);
    expect(compileOnce(snapshot({ apiKeys: [apiKey()] })).staleAtMs).toBeUndefined();
  });
});

describe('the hint of a key that was made elsewhere', () => {
  const entry = (sha256: string, hint: string | undefined, notAfterMs?: number) => ({
    sha256,
    ...(hint === undefined ? {} : { hint }),
    ...(notAfterMs === undefined ? {} : { notAfter: at(notAfterMs) }),
  });
  test.each([
    ['the newest, in the overlap too', [entry(B, 'psk_…old1', DAY_MS), entry(A, 'psk_…new1')], 'psk_…new1'],
    ['the one that is left', [entry(A, 'psk_…old1', 0), entry(B, 'psk_…new1')], 'psk_…new1'],
    [
      'one that works still, whatever its place',
      [entry(A, 'psk_…new1'), entry(B, 'psk_…old1', 0)],
      'psk_…new1',
    ],
    ['the last of all that have ended', [entry(A, 'psk_…old1', -2), entry(B, 'psk_…new1', -1)], 'psk_…new1'],
    ['the newest that has one', [entry(A, 'psk_…old1'), entry(B, undefined)], 'psk_…old1'],
    ['none that has ended, where another works', [entry(A, 'psk_…old1', 0), entry(B, undefined)], undefined],
  ])('%s', (_, imports, hint) => {
    const [verdict] = compileOnce(snapshot({ apiKeys: [apiKey({ imports })] })).verdicts;
    expect(verdict?.kind === 'ApiKey' && verdict.keyHint).toBe(hint);
  });
});

describe('a key in its Secret', () => {
  test('works by its SHA-256; the key itself is nowhere', () => {
    const result = issued();
    expect(result.table.keys.map(({ sha256 }) => sha256)).toEqual([hash('sha256', KEY)]);
    expect(condition(result, 'ApiKey', 'team-a/bot', 'Issued').reason).toBe('SecretCreated');
    expect(JSON.stringify(result)).not.toContain(KEY.slice(4, 40));
  });

  test('with a long name is found by a label that Kubernetes accepts', () => {
    const long = issued({}, {}, `${'n'.repeat(190)}`);
    expect(long.table.keys).toHaveLength(1);
    const [one, other] = ['x', 'y'].map((end) => issuedSecretLabelValue('n'.repeat(99) + end));
    expect(one).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    expect(one).toHaveLength(63);
    expect(one).not.toBe(other);
  });

  test.each([
    ['without the label', { labels: {} }, 'SecretTaken'],
    ['with the label of another', { labels: { [ISSUED_SECRET_LABEL]: 'other' } }, 'SecretTaken'],
    ['without the key', { data: {} }, 'KeyMalformed'],
    ['with another prefix', { data: { apiKey: `sk_${KEY}` } }, 'KeyMalformed'],
    ['with a word for a key', { data: { apiKey: 'psk_password' } }, 'KeyMalformed'],
    ['with a line break', { data: { apiKey: `${KEY}\n` } }, 'KeyMalformed'],
    ['elsewhere', { namespace: 'team-b' }, 'SecretPending'],
  ] as const)('%s does not work', (_, fields, reason) => {
    const result = issued(fields);
    expect(result.table.keys).toEqual([]);
    expect(condition(result, 'ApiKey', 'team-a/bot', 'Issued').reason).toBe(reason);
    expect(result.verdicts[0]).toMatchObject({ needsSecret: reason === 'SecretPending' });
  });
});

describe('a rotation', () => {
  const [NEXT, PREVIOUS] = ['n', 'p'].map((letter) => `psk_${letter.repeat(49)}`) as [string, string];
  const notes = {
    'penstock.dev/issued-at': at(-DAY_MS),
    'penstock.dev/key-version': '4',
    'penstock.dev/rotation-trigger': 'one',
  };
  const digests = (result: ReturnType<typeof issued>) =>
    new Map(result.table.keys.map(({ sha256, notAfterMs }) => [sha256, notAfterMs]));

  test('puts the next key into the table before anybody has it, and no version into the ApiKey', () => {
    const result = issued(
      { annotations: notes, data: { apiKey: KEY, nextApiKey: NEXT } },
      { rotation: { interval: '48h' } },
    );
    expect([...digests(result).keys()].sort()).toEqual([hash('sha256', KEY), hash('sha256', NEXT)].sort());
    expect(result.verdicts[0]).toMatchObject({
      next: hash('sha256', NEXT),
      keyHint: `psk_…${KEY.slice(-4)}`,
      versions: [
        { id: 4, fingerprint: hash('sha256', KEY).slice(0, 16), state: 'Active', createdAt: at(-DAY_MS) },
      ],
      observedTrigger: 'one',
      nextRotationAt: at(DAY_MS),
    });
  });

  const overlapping = (spec: object = {}, endMs = DAY_MS) =>
    issued(
      {
        annotations: { ...notes, 'penstock.dev/previous-not-after': at(endMs) },
        data: { apiKey: KEY, previousApiKey: PREVIOUS },
      },
      spec,
    );

  test('lets the previous key work until its own end, not that of the ApiKey', () => {
    const result = overlapping();
    expect(digests(result).get(hash('sha256', PREVIOUS))).toBe(NOW_MS + DAY_MS);
    expect(digests(result).get(hash('sha256', KEY))).toBeUndefined();
    expect(result.verdicts[0]).toMatchObject({
      versions: [
        { id: 4, state: 'Active' },
        { id: 3, state: 'Retiring', notAfter: at(DAY_MS) },
      ],
    });
    expect(result.verdicts[0]).not.toHaveProperty('expiresAt');
    expect(result.verdicts[0]?.conditions.map(({ type }) => type)).toEqual(['Accepted', 'Issued']);
    expect(result.staleAtMs).toBe(NOW_MS + DAY_MS);
  });

  test.each([
    ['ends with the ApiKey', { expiresAt: at(3_600_000) }, NOW_MS + 3_600_000],
    // It took over a day ago.
    ['ends with an overlap that was made shorter', { rotation: { overlap: '24h5m' } }, NOW_MS + 300_000],
    ['does not end later than was said', { rotation: { overlap: '240h' } }, NOW_MS + DAY_MS],
  ])('the one before %s', (_, spec, endMs) => {
    expect(digests(overlapping(spec)).get(hash('sha256', PREVIOUS))).toBe(endMs);
  });

  test('without overlap removes the previous key at once, and past its end on every clock', () => {
    expect([...digests(overlapping({ rotation: { overlap: '0s' } })).keys()]).toEqual([hash('sha256', KEY)]);
    expect(overlapping({}, -599_999).verdicts[0]).toMatchObject({ versions: [{}, { state: 'Expired' }] });
    expect(digests(overlapping({}, -599_999)).size).toBe(2);
    expect(digests(overlapping({}, -600_000)).size).toBe(1);
  });

  test('with a trigger that waits for the end of an overlap says when it starts', () => {
    const { verdicts } = overlapping({ rotation: { trigger: 'two', overlap: '48h' } });
    expect(verdicts[0]).toMatchObject({ nextRotationAt: at(DAY_MS + 600_000) });
  });

  test('one key under several names counts once', () => {
    const data = { apiKey: KEY, nextApiKey: KEY, previousApiKey: KEY };
    const result = issued({ annotations: { ...notes, 'penstock.dev/previous-not-after': at(DAY_MS) }, data });
    expect([...digests(result).entries()]).toEqual([[hash('sha256', KEY), undefined]]);
  });
});

describe('the owner of the Secret', () => {
  const owner = (uid: string, kind = 'ApiKey') => ({
    apiVersion: 'penstock.dev/v1alpha1',
    kind,
    name: 'bot',
    uid,
    controller: true,
  });
  const ownedBy = (...owners: ReturnType<typeof owner>[]) => {
    const object = { ...apiKey({}, { uid: 'u-1' }), spec: {} };
    const labels = { [ISSUED_SECRET_LABEL]: 'bot' };
    const secrets = [secret({ name: 'bot-key', labels, data: { apiKey: KEY }, owners })];
    const result = compileOnce(snapshot({ apiKeys: [object], secrets }));
    return condition(result, 'ApiKey', 'team-a/bot', 'Issued').reason;
  };

  test.each([
    ['this ApiKey', [owner('u-1')], 'SecretCreated'],
    ['no owner, as with retain', [], 'SecretCreated'],
    // Its key must not come back to life with the namesake.
    ['an ApiKey of that name which was deleted', [owner('u-0')], 'SecretPending'],
    ['something else that controls it', [owner('v', 'Vault')], 'SecretTaken'],
  ])('%s', (_, owners, reason) => {
    expect(ownedBy(...owners)).toBe(reason);
  });
});

test('attributes that were stored under their old name still reach the table', () => {
  const old = compileOnce(snapshot({ apiKeys: [apiKey({ metadata: { app: 'ci' } })] }));
  const now = compileOnce(snapshot({ apiKeys: [apiKey({ attributes: { app: 'ci' } })] }));
  expect(old.table.keys[0]?.metadata).toEqual({ app: 'ci' });
  expect(old.table).toEqual(now.table);
});

test('a disabled key is not in the table, nor an object that is being deleted', () => {
  expect(compileOnce(snapshot({ apiKeys: [apiKey({ disabled: true })] })).table.keys).toEqual([]);
  const leaving = apiKey({}, { deletionTimestamp: at(0) });
  expect(compileOnce(snapshot({ apiKeys: [leaving] }))).toMatchObject({ table: { keys: [] }, verdicts: [] });
});

test.each([
  [
    'of the namespace alone',
    {},
    [{ namespace: 'team-a', limits: { requestsPerMinute: 60 } }],
    /enforced by shares/,
  ],
  ['of another namespace', {}, [{ namespace: 'team-b', limits: { requestsPerMinute: 60 } }], /^$/],
  ['of its own', { limits: { requestsPerMinute: 6 } }, [], /enforced by shares/],
])('limits %s: Accepted says how exactly they are enforced', (_, spec, tenantLimits, words) => {
  const platform = { ...PLATFORM, tenantLimits };
  const result = compileOnce(snapshot({ apiKeys: [apiKey(spec)], platform }));
  expect(condition(result, 'ApiKey', 'team-a/bot', 'Accepted').message).toMatch(words);
  expect(result.table.settings.tenantLimits).toEqual(tenantLimits.length === 0 ? undefined : tenantLimits);
});

describe('labels and annotations for the Secret', () => {
  const degraded = (spec: object, metadataPrefixes?: readonly string[]) => {
    const platform = { ...PLATFORM, ...(metadataPrefixes === undefined ? {} : { metadataPrefixes }) };
    const apiKeys = [apiKey({ imports: undefined, ...spec })];
    const { verdicts } = compileOnce(snapshot({ apiKeys, platform }));
    return verdicts[0]?.conditions.find(({ type }) => type === 'Degraded');
  };
  const asking = (...names: string[]) => ({
    secret: { annotations: Object.fromEntries(names.map((name) => [name, 'x'])) },
  });

  test('of other controllers are reported as not written, and the key works', () => {
    expect(
      degraded(asking('app', 'replicator.example/replicate-to', 'argocd.example/tracking-id')),
    ).toMatchObject({
      status: 'True',
      reason: 'MetadataNotAllowed',
      message: expect.stringMatching(
        /^these .* not written to Secret bot-key: argocd\.example\/tracking-id, replicator\.example\/replicate-to\. /,
      ),
    });
  });

  test.each([
    ['without a prefix', asking('app', 'team'), undefined],
    ['of app.kubernetes.io', asking('app.kubernetes.io/name'), undefined],
    ['with a prefix that the platform allows', asking('reloader.example/match'), ['reloader.example']],
    ['of an ApiKey that writes no Secret', { ...asking('a.example/b'), imports: [{ sha256: A }] }, undefined],
  ])('%s are written, without a message', (_, spec, prefixes) => {
    expect(degraded(spec, prefixes)).toBeUndefined();
  });

  test('with a part of an allowed prefix are not allowed', () => {
    expect(degraded(asking('evil.reloader.example/match'), ['reloader.example'])?.reason).toBe(
      'MetadataNotAllowed',
    );
  });
});

describe('two ApiKeys with one key', () => {
  const old = apiKey({}, { name: 'old', creationTimestamp: '2026-01-01T00:00:00Z' });
  const young = apiKey({}, { name: 'young', namespace: 'team-b', creationTimestamp: '2026-02-01T00:00:00Z' });

  test('the older one keeps working, the younger one is refused, both get a condition, and neither message names the other', () => {
    const result = compileOnce(snapshot({ apiKeys: [young, old] }));
    expect(result.table.keys.map(({ id }) => id)).toEqual(['team-a/old']);
    expect(condition(result, 'ApiKey', 'team-a/old', 'Accepted').status).toBe('True');
    expect(condition(result, 'ApiKey', 'team-b/young', 'Accepted').reason).toBe('DigestConflict');
    const reported = ['team-a/old', 'team-b/young'].map(
      (place) => condition(result, 'ApiKey', place, 'Conflicted').message,
    );
    expect(reported[0]).not.toMatch(/team-b|young/);
    expect(reported[1]).not.toMatch(/team-a/);
  });

  test.each([
    ['disabled', { disabled: true }],
    ['expired', { expiresAt: at(-600_000) }],
  ])('a key that its older owner had %s does not work again through the younger one', (_, spec) => {
    const off = apiKey(spec, { name: 'old', creationTimestamp: '2026-01-01T00:00:00Z' });
    expect(compileOnce(snapshot({ apiKeys: [young, off] })).table.keys).toEqual([]);
  });

  describe('an older ApiKey asks for the key of a younger one in service', () => {
    const oldWith = (...digests: string[]) =>
      apiKey(
        { imports: digests.map((sha256) => ({ sha256 })) },
        { name: 'old', creationTimestamp: '2026-01-01T00:00:00Z' },
      );
    const youngWith = (spec: Readonly<Record<string, unknown>>) =>
      apiKey(spec, { name: 'young', namespace: 'team-b', creationTimestamp: '2026-02-01T00:00:00Z' });
    const before = snapshot({ apiKeys: [oldWith(B), young] });
    const asking = snapshot({ apiKeys: [oldWith(A), young] });
    const served = ({ table }: CompileResult) => table.keys.map(({ sha256, id }) => `${id} ${sha256}`).sort();
    const youngServes = `team-b/young ${A}`;

    test('the younger one keeps the key, both get a condition, and neither message names the other', () => {
      const run = startTerm();
      run(before);
      const result = run(asking);
      expect(served(result)).toEqual([youngServes]);
      expect(condition(result, 'ApiKey', 'team-b/young', 'Accepted').status).toBe('True');
      expect(condition(result, 'ApiKey', 'team-a/old', 'Accepted').reason).toBe('DigestConflict');
      const reported = (place: string) => condition(result, 'ApiKey', place, 'Conflicted').message;
      expect(reported('team-b/young')).toMatch(/^another ApiKey names the same key and was refused/);
      expect(reported('team-b/young')).not.toMatch(/team-a/);
      expect(reported('team-a/old')).toMatch(
        /already belongs to another ApiKey, and works only for that one/,
      );
      expect(reported('team-a/old')).not.toMatch(/team-b|young/);
      expect(served(run(asking))).toEqual([youngServes]);
    });

    test('the younger one keeps the key under another leader too, which has only the table', () => {
      const found = startTerm()(before).table;
      expect(served(startTerm(0, found)(asking))).toEqual([youngServes]);
    });

    test('the younger one keeps the served key, and gets no key that is new to both', () => {
      const run = startTerm();
      run(before);
      const imports = [{ sha256: A }, { sha256: C }];
      const apiKeys = [oldWith(A, C), youngWith({ imports })];
      expect(served(run(snapshot({ apiKeys })))).toEqual([`team-a/old ${C}`, youngServes]);
    });

    test.each([
      ['deleted', []],
      ['disabled', [youngWith({ disabled: true })]],
    ])('if the younger one is %s, the key stops working, and returns only for its namespace', (_, rest) => {
      const run = startTerm();
      run(before);
      run(asking);
      const after = run(snapshot({ apiKeys: [oldWith(A), ...rest] }));
      expect(served(after)).toEqual([]);
      expect(condition(after, 'ApiKey', 'team-a/old', 'Accepted')).toMatchObject({
        reason: 'DigestConflict',
        message: expect.stringMatching(/this namespace cannot use/),
      });
      expect(served(run(asking))).toEqual([youngServes]);
    });

    test('if the younger one is renamed, the key works under the new name, whichever is applied first', () => {
      const renamed = apiKey({}, { name: 'renamed', namespace: 'team-b', creationTimestamp: at(0) });
      const renamedServes = [`team-b/renamed ${A}`];
      const run = startTerm();
      run(before);
      expect(served(run(snapshot({ apiKeys: [oldWith(A), young, renamed] })))).toEqual([youngServes]);
      expect(served(run(snapshot({ apiKeys: [oldWith(A), renamed] })))).toEqual(renamedServes);
      expect(served(run(snapshot({ apiKeys: [oldWith(A)] })))).toEqual([]);
      expect(served(run(snapshot({ apiKeys: [oldWith(A), renamed] })))).toEqual(renamedServes);
    });
  });

  test('an import cannot take over a key that was issued here', () => {
    const thief = apiKey(
      { imports: [{ sha256: hash('sha256', KEY) }] },
      { name: 'thief', creationTimestamp: '2026-03-01T00:00:00Z' },
    );
    const owner = { ...apiKey({}, { creationTimestamp: '2026-01-01T00:00:00Z' }), spec: {} };
    const labels = { [ISSUED_SECRET_LABEL]: 'bot' };
    const secrets = [secret({ name: 'bot-key', labels, data: { apiKey: KEY } })];
    const { table } = compileOnce(snapshot({ apiKeys: [thief, owner], secrets }));
    expect(table.keys.map(({ id }) => id)).toEqual(['team-a/bot']);
  });
});
