// What is written next into the Secret of a key? Each step of a rotation, and what must never be touched.

import { describe, expect, test } from 'vitest';
import { type KeyFacts, planKeySecret } from '../../../operator/keys/plan-key.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import type { SecretOwner, SecretRecord } from '../../../operator/watch/snapshot.ts';
import { apiKey, secret } from '../make.ts';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const at = (offsetMs: number) => new Date(NOW_MS + offsetMs).toISOString();
const [A, B, C] = ['a', 'b', 'c'].map((letter) => `psk_${letter.repeat(49)}`) as [string, string, string];

const owner: SecretOwner = {
  apiVersion: 'penstock.dev/v1alpha1',
  kind: 'ApiKey',
  name: 'bot',
  uid: 'u-1',
  controller: true,
};
const namesake = { ...owner, uid: 'u-0' };
const notes = (offsetMs: number, more: object = {}) => ({
  'penstock.dev/issued-at': at(offsetMs),
  'penstock.dev/key-version': '3',
  ...more,
});

/** Issued an hour ago, in order. */
function keySecret(fields: Partial<SecretRecord> = {}): SecretRecord {
  return secret({
    name: 'bot-key',
    labels: { [ISSUED_SECRET_LABEL]: 'bot' },
    annotations: notes(-HOUR_MS),
    data: { apiKey: A },
    owners: [owner],
    ...fields,
  });
}

function plan(spec: object, held: SecretRecord | undefined, facts: Partial<KeyFacts> = {}) {
  const parsed = parseApiKey(apiKey({ imports: undefined, ...spec }, { uid: 'u-1' }));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return planKeySecret({
    apiKey: parsed.value,
    secret: held,
    keyPrefix: 'psk_',
    baseUrl: undefined,
    nowMs: NOW_MS,
    lastVersion: 0,
    isOut: () => false,
    makeKey: () => C,
    ...facts,
  });
}

const nothing = { type: 'nothing' };
const staged = { data: { apiKey: A, nextApiKey: B } };
const overlapping = (endMs: number, issuedMs = -HOUR_MS) => ({
  data: { apiKey: A, previousApiKey: B },
  annotations: notes(issuedMs, { 'penstock.dev/previous-not-after': at(endMs) }),
});

describe('without a Secret', () => {
  test('one is made, with its owner, its annotations and the labels of the spec', () => {
    const spec = {
      secret: { labels: { app: 'ci' }, annotations: { 'a.dev/note': 'x y' } },
      rotation: { trigger: 'one' },
    };
    expect(plan(spec, undefined, { baseUrl: 'http://gw/v1', lastVersion: 4 })).toEqual({
      type: 'create',
      secret: {
        labels: { app: 'ci', [ISSUED_SECRET_LABEL]: 'bot' },
        annotations: {
          'a.dev/note': 'x y',
          'penstock.dev/issued-at': at(0),
          'penstock.dev/key-version': '5',
          // Observed from the start: it is no reason for a second key.
          'penstock.dev/rotation-trigger': 'one',
          'penstock.dev/from-spec': 'label:app annotation:a.dev/note',
        },
        data: { baseURL: 'http://gw/v1', apiKey: C },
        owners: [owner],
      },
    });
  });

  test('one with retain has no owner', () => {
    expect(plan({ secret: { retain: true } }, undefined)).toMatchObject({ secret: { owners: [] } });
  });

  test.each([
    ['another data key', { secret: { key: 'TOKEN' } }, { baseURL: 'http://gw', TOKEN: C }],
    ['the data key of the address', { secret: { key: 'baseURL' } }, { baseURL: C }],
  ])('%s', (_, spec, data) => {
    expect(plan(spec, undefined, { baseUrl: 'http://gw' })).toMatchObject({ secret: { data } });
  });

  test.each([
    ['a disabled ApiKey', { disabled: true }],
    ['one with imports', { imports: [{ sha256: 'a'.repeat(64) }] }],
  ])('%s gets none', (_, spec) => {
    expect(plan(spec, undefined)).toEqual(nothing);
  });
});

describe('a Secret that is not changed', () => {
  const due = { rotation: { trigger: 'now' }, secret: { labels: { app: 'ci' } } };
  test.each([
    ["somebody else's", { labels: {} }],
    ["another ApiKey's", { labels: { [ISSUED_SECRET_LABEL]: 'other' } }],
    ['that of a namesake which was deleted', { owners: [namesake] }],
    ['one under the control of something else', { owners: [{ ...owner, kind: 'Vault', uid: 'v' }] }],
    ['one whose key was replaced by a word', { data: { apiKey: 'psk_password' } }],
    ['one whose key was taken out', { data: {} }],
  ])('%s', (_, fields) => {
    expect(plan(due, keySecret(fields))).toEqual(nothing);
  });

  test('if all is well, the next look is when a rotation is due', () => {
    expect(plan({}, keySecret())).toEqual(nothing);
    expect(plan({ rotation: { interval: '48h' } }, keySecret())).toEqual({
      type: 'nothing',
      atMs: NOW_MS + 47 * HOUR_MS,
    });
  });
});

describe('a rotation', () => {
  const byTrigger = { rotation: { trigger: 'two', overlap: '2h' } };

  test.each([
    ['by a trigger', byTrigger],
    ['by a trigger of no text', { rotation: { trigger: '' } }],
    ['by an interval', { rotation: { interval: '1h', overlap: '10m' } }],
  ])('%s stages the next key and touches no other', (_, spec) => {
    expect(plan(spec, keySecret())).toEqual({
      type: 'change',
      step: 'stage',
      change: { labels: {}, annotations: {}, data: { nextApiKey: C } },
    });
  });

  test.each([
    ['before its interval', { rotation: { interval: '1h1ms', overlap: '10m' } }],
    ['for a trigger that was acted on', { rotation: { trigger: 'one' } }],
    ['for a trigger that was taken away', { rotation: { overlap: '1h' } }],
    ['of a disabled ApiKey', { ...byTrigger, disabled: true }],
    ['of one that has ended', { ...byTrigger, expiresAt: at(-1) }],
  ])('does not begin %s', (_, spec) => {
    const held = keySecret({ annotations: notes(-HOUR_MS, { 'penstock.dev/rotation-trigger': 'one' }) });
    expect(plan(spec, held)).toMatchObject({ type: 'nothing' });
  });

  test('puts no new key into use until every gateway knows it, and makes it once', () => {
    expect(plan(byTrigger, keySecret(staged))).toEqual(nothing);
    expect(plan(byTrigger, keySecret(staged), { isOut: (key) => key === A })).toEqual(nothing);
  });

  test('puts the new key into use in one write', () => {
    expect(plan(byTrigger, keySecret(staged), { isOut: (key) => key === B })).toEqual({
      type: 'change',
      step: 'promote',
      change: {
        labels: {},
        annotations: {
          'penstock.dev/issued-at': at(0),
          'penstock.dev/key-version': '4',
          'penstock.dev/rotation-trigger': 'two',
          'penstock.dev/previous-not-after': at(2 * HOUR_MS),
        },
        data: { apiKey: B, previousApiKey: A, nextApiKey: null },
      },
    });
  });

  test('without overlap keeps the earlier key nowhere', () => {
    const { change } = plan({ rotation: { trigger: 'two', overlap: '0s' } }, keySecret(staged), {
      isOut: () => true,
    }) as { change: { data: object; annotations: object } };
    expect(change.data).toEqual({ apiKey: B, nextApiKey: null });
    expect(change.annotations).not.toHaveProperty('penstock.dev/previous-not-after');
  });

  test('of a disabled ApiKey waits with its staged key; a staged key without a rotation is removed', () => {
    const out = { isOut: () => true };
    expect(plan({ ...byTrigger, disabled: true }, keySecret(staged), out)).toEqual(nothing);
    expect(plan({}, keySecret(staged), out)).toMatchObject({
      step: 'unstage',
      change: { data: { nextApiKey: null } },
    });
  });

  test('makes a staged value again if it is not a key', () => {
    expect(plan(byTrigger, keySecret({ data: { apiKey: A, nextApiKey: 'word' } }))).toMatchObject({
      step: 'stage',
      change: { data: { nextApiKey: C } },
    });
  });
});

describe('an overlap', () => {
  const day = { rotation: { overlap: '24h', trigger: 'two' } };

  test('delays a further rotation until its end is past on every clock', () => {
    const held = keySecret(overlapping(HOUR_MS));
    expect(plan(day, held)).toEqual({ type: 'nothing', atMs: NOW_MS + HOUR_MS + 600_000 });
    expect(plan(day, keySecret(overlapping(-599_999)))).toMatchObject({ type: 'nothing' });
  });

  test('leaves nothing behind', () => {
    expect(plan(day, keySecret(overlapping(-600_000)))).toEqual({
      type: 'change',
      step: 'retire',
      change: {
        labels: {},
        annotations: { 'penstock.dev/previous-not-after': null },
        data: { previousApiKey: null },
      },
    });
  });

  test.each([
    ['is made shorter', { rotation: { overlap: '30m' } }, 'retire'],
    ['is made nothing, a moment after it began', { rotation: { overlap: '0s' } }, 'retire'],
    ['would outlive the ApiKey', { expiresAt: at(-700_000) }, 'retire'],
    ['is made longer', { rotation: { overlap: '48h' } }, undefined],
    ['is what remains of a rotation that was taken out of the spec', {}, undefined],
  ])('that %s', (why, spec, step) => {
    const issuedMs = why.includes('moment') ? -1 : -HOUR_MS;
    const result = plan(spec, keySecret(overlapping(23 * HOUR_MS, issuedMs)));
    expect('step' in result ? result.step : undefined).toBe(step);
  });

  test('without a readable end is expired', () => {
    const held = keySecret({ data: { apiKey: A, previousApiKey: B } });
    expect(plan({}, held)).toMatchObject({ step: 'retire' });
  });
});

describe('a Secret without annotations', () => {
  const bare = keySecret({ annotations: {}, createdAt: at(-5 * HOUR_MS) });

  test('counts its time from its creation, and from no rotation', () => {
    expect(
      plan({ rotation: { trigger: 'x', interval: '1h', overlap: '0s' } }, bare, { lastVersion: 2 }),
    ).toEqual({
      type: 'change',
      step: 'note',
      change: {
        labels: {},
        annotations: {
          'penstock.dev/issued-at': at(-5 * HOUR_MS),
          'penstock.dev/key-version': '2',
          'penstock.dev/rotation-trigger': 'x',
        },
        data: {},
      },
    });
  });
});

describe('the Secret follows the spec', () => {
  const change = (spec: object, held: SecretRecord, facts: Partial<KeyFacts> = {}) => {
    const result = plan(spec, held, facts);
    return result.type === 'change' ? result.change : undefined;
  };
  const dressed = keySecret({
    labels: { [ISSUED_SECRET_LABEL]: 'bot', app: 'ci', theirs: '1' },
    annotations: {
      ...notes(-HOUR_MS),
      note: 'n',
      other: 'o',
      'penstock.dev/from-spec': 'label:app annotation:note',
    },
  });

  test('labels and annotations are added, changed and removed; foreign ones stay', () => {
    const wanted = { secret: { labels: { app: 'ci' }, annotations: { note: 'n' } } };
    expect(plan(wanted, dressed)).toEqual(nothing);
    expect(change({ secret: { labels: { app: 'cd', team: 't' } } }, dressed)).toEqual({
      labels: { app: 'cd', team: 't' },
      annotations: { note: null, 'penstock.dev/from-spec': 'label:app label:team' },
      data: {},
    });
    expect(change({}, dressed)).toEqual({
      labels: { app: null },
      annotations: { note: null, 'penstock.dev/from-spec': null },
      data: {},
    });
  });

  test('an annotation that lists labels of Penstock removes none of them', () => {
    const held = keySecret({
      annotations: notes(-HOUR_MS, {
        'penstock.dev/from-spec': `label:${ISSUED_SECRET_LABEL} annotation:penstock.dev/issued-at`,
      }),
    });
    expect(change({}, held)).toEqual({
      labels: {},
      annotations: { 'penstock.dev/from-spec': null },
      data: {},
    });
  });

  test('retain removes the owner and its end restores it; other owners stay', () => {
    const other = { ...owner, kind: 'ConfigMap', name: 'c', uid: 'c', controller: false };
    const retained = { secret: { retain: true } };
    expect(change(retained, keySecret({ owners: [other, owner] }))).toMatchObject({ owners: [other] });
    expect(plan(retained, keySecret({ owners: [other] }))).toEqual(nothing);
    expect(change({}, keySecret({ owners: [other] }))).toMatchObject({ owners: [other, owner] });
  });

  test('a retained one is adopted', () => {
    const { owners: _, ...kept } = keySecret();
    expect(change({}, kept)).toEqual({ labels: {}, annotations: {}, data: {}, owners: [owner] });
  });

  test('the address is kept up to date, unless the key is in its place', () => {
    const held = keySecret({ data: { apiKey: A, baseURL: 'http://old' } });
    expect(change({}, held, { baseUrl: 'http://new' })).toMatchObject({ data: { baseURL: 'http://new' } });
    const inPlace = keySecret({ data: { baseURL: A } });
    expect(plan({ secret: { key: 'baseURL' } }, inPlace, { baseUrl: 'http://new' })).toEqual(nothing);
  });
});
