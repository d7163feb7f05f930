// Do the old key and the new one work side by side, for as long as was said?

import { describe, expect, test } from 'vitest';
import {
  endOfOthers,
  holds,
  importsWith,
  isWithoutOverlap,
  overlapsFor,
  rotatedManifest,
  rotatedPatch,
  triggerAt,
  versionsOf,
  waitOf,
} from '../../../dashboard/pages/keys/rotate.ts';
import type { ApiKey } from '../../../dashboard/pages/words/kube.ts';
import { mergePatch } from '../../../dashboard/pages/words/merge-patch.ts';
import { compileKey } from '../../../operator/compile/keys.ts';
import { planKeySecret } from '../../../operator/keys/plan-key.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { API_VERSION, apiKey, PLATFORM, secret } from '../../operator/make.ts';

const nowMs = Date.parse('2026-11-23T12:00:00Z');
const hourMs = 3_600_000;
const imported = (letter: string, notAfter?: string) => ({
  sha256: letter.repeat(64),
  hint: `psk_…${letter.repeat(4)}`,
  ...(notAfter === undefined ? {} : { notAfter }),
});
const next = imported('f');

describe('a key that was made in a browser', () => {
  test('keeps working for the overlap beside the new one', () => {
    expect(importsWith([imported('a')], next, 24 * hourMs, nowMs)).toEqual([
      imported('a', '2026-11-24T12:00:00Z'),
      next,
    ]);
  });

  test('stops at once without overlap', () => {
    expect(importsWith([imported('a')], next, 0, nowMs)).toEqual([next]);
  });

  test('keeps an earlier expiry, and an expired key is left out', () => {
    const imports = [imported('a', '2026-11-23T13:00:00Z'), imported('b', '2026-11-22T00:00:00Z')];
    expect(importsWith(imports, next, 24 * hourMs, nowMs)).toEqual([
      imported('a', '2026-11-23T13:00:00Z'),
      next,
    ]);
  });

  test('a fifth working key is refused, with a remedy in the message', () => {
    const imports = ['a', 'b', 'c', 'd'].map((letter) => imported(letter));
    expect(() => importsWith(imports, next, hourMs, nowMs)).toThrow('rotate without overlap');
    expect(importsWith(imports, next, 0, nowMs)).toEqual([next]);
  });

  test('is identified by its hash, and shows how long another key works beside it', () => {
    const [over, soon, later] = [11, 13, 14].map((hour) => `2026-11-23T${hour}:00:00Z`);
    const keyOf = (...imports: readonly ReturnType<typeof imported>[]) => ({
      metadata: { name: 'bot', namespace: 'team-a' },
      spec: { imports },
    });
    const key = keyOf(imported('a', over), imported('b', later), imported('c', soon), next);
    expect([holds(key, next), holds(key, imported('d'))]).toEqual([true, false]);
    expect(endOfOthers(key, next, nowMs)).toBe(later);
    expect(endOfOthers(keyOf(imported('a', over), next), next, nowMs)).toBeUndefined();
    expect(endOfOthers(keyOf(next), next, nowMs)).toBeUndefined();
  });

  test('is distinguished from earlier keys, which show how long they work', () => {
    const [over, until] = ['2026-11-22T00:00:00Z', '2026-11-23T13:00:00Z'];
    const imports = [imported('a', over), imported('b', until), { sha256: 'c'.repeat(64) }];
    const metadata = { name: 'bot', namespace: 'team-a' };
    expect(
      versionsOf({ metadata, spec: { imports } }, nowMs).map(({ id: _, ...version }) => version),
    ).toEqual([
      { name: 'cccccccc', state: 'Active', notAfter: undefined },
      { name: 'psk_…bbbb', state: 'Retiring', notAfter: until },
      { name: 'psk_…aaaa', state: 'Expired', notAfter: over },
    ]);
  });

  test('is listed once, by its hint, though the operator reports it too', () => {
    const imports = [imported('a', '2026-11-23T13:00:00Z'), next];
    const key = { metadata: { name: 'bot', namespace: 'team-a' }, spec: { imports } };
    const versions = [
      // Of the one before, whose end the operator has not seen yet.
      { id: 1, fingerprint: 'e'.repeat(16), state: 'Active' },
      { id: 2, fingerprint: 'a'.repeat(16), state: 'Active', notAfter: '2026-11-23T13:00:00Z' },
      { id: 3, fingerprint: 'f'.repeat(16), state: 'Active' },
    ];
    expect(versionsOf({ ...key, status: { versions } }, nowMs)).toEqual(versionsOf(key, nowMs));
    expect(versionsOf(key, nowMs).map(({ name }) => name)).toEqual(['psk_…ffff', 'psk_…aaaa']);
  });
});

test('the data keys of the Secret are the ones that the operator reports', () => {
  const versions = [{ id: 7, fingerprint: '0123456789abcdef', state: 'Active' }];
  const key = { metadata: { name: 'bot', namespace: 'team-a' }, spec: {}, status: { versions } };
  expect(versionsOf(key, nowMs)).toEqual([
    { id: '7', name: '01234567', state: 'Active', notAfter: undefined },
  ]);
});

describe('a key issued by the operator', () => {
  const metadata = { name: 'bot', namespace: 'team-a' };
  const keyWith = (rotation?: ApiKey['spec']['rotation']): ApiKey => ({
    metadata,
    spec: rotation === undefined ? {} : { rotation },
  });
  const trigger = triggerAt(nowMs);
  const planned = { interval: '720h', overlap: '168h' };

  test('is rotated with the configured overlap, which stays', () => {
    const asked = rotatedPatch(keyWith(planned), { minted: undefined, overlapHours: undefined, trigger });
    expect(asked).toEqual({ spec: { rotation: { trigger: 'dashboard-2026-11-23T12:00:00Z' } } });
    expect(overlapsFor(keyWith(planned))[0]).toEqual({ value: '', label: 'as configured: 168h' });
    expect(overlapsFor(keyWith())[0]?.label).toBe('as configured: 24h');
    expect(overlapsFor(keyWith({ overlap: '0s' }))[0]?.label).toBe('as configured: none');
  });

  test('stops at once if so chosen, or configured', () => {
    expect(isWithoutOverlap(keyWith(planned), '')).toBe(false);
    expect(isWithoutOverlap(keyWith(planned), '0')).toBe(true);
    expect(isWithoutOverlap(keyWith({ overlap: '0s' }), '')).toBe(true);
    expect(isWithoutOverlap(keyWith({ overlap: '0s' }), '24')).toBe(false);
  });

  test.each([
    [undefined],
    [{ overlap: '24h' }],
    [planned],
    [{ interval: '12h', overlap: '6h' }],
    [{ interval: '1h', overlap: '1m30s' }],
    [{ interval: '24h', overlap: '0s' }],
  ])('with %j can be rotated with each overlap that is offered', (rotation) => {
    const key = keyWith(rotation);
    const offered = overlapsFor(key).map(({ value }) => value);
    expect(new Set(offered).size).toBe(offered.length);
    for (const value of offered) {
      const overlapHours = value === '' ? undefined : Number(value);
      const manifest = rotatedManifest(key, { minted: undefined, overlapHours, trigger });
      expect(parseApiKey(manifest)).toMatchObject({ ok: true });
    }
    // What is not offered is what is set, or would be refused.
    for (const overlapHours of [0, 1, 24, 168].filter((hours) => !offered.includes(String(hours)))) {
      const parsed = parseApiKey(rotatedManifest(key, { minted: undefined, overlapHours, trigger }));
      const same = parseApiKey(rotatedManifest(key, { minted: undefined, overlapHours: undefined, trigger }));
      expect(!parsed.ok || JSON.stringify(parsed) === JSON.stringify(same)).toBe(true);
    }
  });
});

describe('as YAML, a rotation is the whole object, which the operator accepts', () => {
  const metadata = { name: 'bot', namespace: 'team-a', resourceVersion: '3' };
  const rest = { owner: { name: 'Ada' } };

  test('with the new key beside the old one, for keys made in browsers', () => {
    const key = { metadata, spec: { ...rest, imports: [imported('a')] } };
    const minted = { ...next, key: 'psk_secret' };
    const manifest = rotatedManifest(key, { overlapHours: 1, nowMs, minted });
    expect(manifest).toMatchObject({
      spec: { ...rest, imports: [imported('a', '2026-11-23T13:00:00Z'), next] },
    });
    expect(JSON.stringify(manifest)).not.toMatch(/psk_secret|resourceVersion/);
    expect(parseApiKey(manifest)).toMatchObject({ ok: true });
  });

  test('with another trigger, for keys made by the operator', () => {
    const key = { metadata, spec: { ...rest, rotation: { interval: '720h' } } };
    const trigger = triggerAt(nowMs);
    const manifest = rotatedManifest(key, { overlapHours: 24, trigger, minted: undefined });
    expect(manifest).toMatchObject({
      spec: {
        ...rest,
        rotation: { interval: '720h', overlap: '24h', trigger: 'dashboard-2026-11-23T12:00:00Z' },
      },
    });
    expect(parseApiKey(manifest)).toMatchObject({ ok: true });
  });
});

describe('the text about a rotation in a Secret agrees with the operator', () => {
  const day = { rotation: { overlap: '24h' } };
  const at = (hours: number) => new Date(Math.round(nowMs + hours * hourMs)).toISOString();
  const waits = (hours: number) =>
    `The new key is created ${at(hours + 1 / 6)}, ten minutes after the current overlap. Until then this one works.`;
  const never = (hours: number) =>
    `No new key is created: this one expires ${at(hours)}. Set a later expiry first.`;
  const disabled = 'No new key is created while this one is disabled. Enable it first.';

  // In hours from now: the end of the key before, and, where it is not two hours ago, when the present one came.
  test.each<[string, object, number | undefined, Readonly<Record<string, string | undefined>>, number?]>([
    ['with no other key', day, undefined, { '': undefined, 0: undefined, 168: undefined }],
    ['two hours into a day', day, 22, { '': waits(22), 0: undefined, 1: undefined, 168: waits(22) }],
    ['a minute into a day', day, 24, { '': waits(24 - 1 / 60), 0: undefined, 1: waits(59 / 60) }, -1 / 60],
    ['two hours into a day that is usual', {}, 22, { '': waits(22), 0: undefined, 1: undefined }],
    ['two hours into a week', { rotation: { overlap: '168h' } }, 166, { '': waits(166), 24: waits(22) }],
    ['as soon as it is over', day, -0.1, { '': waits(-0.1), 0: undefined }],
    ['ten minutes later', day, -1 / 6, { '': undefined }],
    ['in an overlap that is to be none by now', { rotation: { overlap: '0s' } }, 22, { '': undefined }],
    ['of an expired key', { ...day, expiresAt: at(-1) }, undefined, { '': never(-1), 0: never(-1) }],
    ['that would wait beyond the end', { ...day, expiresAt: at(22) }, 22, { '': never(22), 0: undefined }],
    ['while disabled', { ...day, disabled: true }, undefined, { '': disabled, 0: disabled }],
    ['while disabled, in an overlap', { ...day, disabled: true }, 22, { '': disabled, 0: disabled }],
  ])('%s', (_, spec, previousEndHours, wordsByOverlap, issuedHours = -2) => {
    const object = apiKey({ imports: undefined, ...spec }, { uid: 'u-1' });
    const held = secret({
      name: 'bot-key',
      labels: { [ISSUED_SECRET_LABEL]: 'bot' },
      data: { apiKey: 'psk_'.padEnd(53, 'a') },
      owners: [{ apiVersion: API_VERSION, kind: 'ApiKey', name: 'bot', uid: 'u-1', controller: true }],
      annotations: { 'penstock.dev/issued-at': at(issuedHours), 'penstock.dev/key-version': '2' },
    });
    const overlapping = {
      ...held,
      data: { ...held.data, previousApiKey: 'psk_'.padEnd(53, 'b') },
      annotations: { ...held.annotations, 'penstock.dev/previous-not-after': at(previousEndHours ?? 0) },
    };
    const before = previousEndHours === undefined ? held : overlapping;
    const platform = PLATFORM;
    const compiled = compileKey({ object, parsed: parseApiKey(object), secret: before, platform, nowMs });
    const { versions } = compiled.verdict as { versions: NonNullable<ApiKey['status']>['versions'] };
    const key = { ...object, status: { versions } } as unknown as ApiKey;
    for (const [overlap, words] of Object.entries(wordsByOverlap)) {
      expect(waitOf(key, overlap, nowMs, (time) => time)).toBe(words);
      const overlapHours = overlap === '' ? undefined : Number(overlap);
      const patch = rotatedPatch(key, { minted: undefined, overlapHours, trigger: 'now' });
      const parsed = parseApiKey(mergePatch(object, patch));
      if (!parsed.ok) expect.fail(JSON.stringify(parsed.problems));
      const planOf = (of: typeof held) =>
        planKeySecret({
          ...{ apiKey: parsed.value, secret: of, keyPrefix: platform.keyPrefix, baseUrl: undefined, nowMs },
          ...{ lastVersion: 0, isOut: () => false, makeKey: () => 'psk_'.padEnd(53, 'c') },
        });
      const first = planOf(before);
      // A key that is out of use goes first.
      const plan = first.type === 'change' && first.step === 'retire' ? planOf(held) : first;
      if (words === undefined) expect(plan).toMatchObject({ type: 'change', step: 'stage' });
      else expect(plan).not.toMatchObject({ step: 'stage' });
      const dueMs = plan.type === 'nothing' ? plan.atMs : undefined;
      expect(dueMs && new Date(dueMs).toISOString()).toBe(/is created (\S+Z),/.exec(words ?? '')?.[1]);
    }
  });
});
