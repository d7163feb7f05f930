// Do the old key and the new one work side by side, for as long as was said?

import { describe, expect, test } from 'vitest';
import {
  importsWith,
  rotatedManifest,
  rotationPatch,
  versionsOf,
} from '../../../dashboard/pages/keys/rotate.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';

const nowMs = Date.parse('2026-11-23T12:00:00Z');
const hourMs = 3_600_000;
const imported = (letter: string, notAfter?: string) => ({
  sha256: letter.repeat(64),
  hint: `psk_…${letter.repeat(4)}`,
  ...(notAfter === undefined ? {} : { notAfter }),
});
const next = imported('f');

describe('a key that was made in a browser', () => {
  test('works on for the overlap beside the new one', () => {
    expect(importsWith([imported('a')], next, 24 * hourMs, nowMs)).toEqual([
      imported('a', '2026-11-24T12:00:00Z'),
      next,
    ]);
  });

  test('goes at once without overlap', () => {
    expect(importsWith([imported('a')], next, 0, nowMs)).toEqual([next]);
  });

  test('an end that was set before is not moved away, and what is over is left out', () => {
    const imports = [imported('a', '2026-11-23T13:00:00Z'), imported('b', '2026-11-22T00:00:00Z')];
    expect(importsWith(imports, next, 24 * hourMs, nowMs)).toEqual([
      imported('a', '2026-11-23T13:00:00Z'),
      next,
    ]);
  });

  test('a fifth key that works has no room, and the message says what helps', () => {
    const imports = ['a', 'b', 'c', 'd'].map((letter) => imported(letter));
    expect(() => importsWith(imports, next, hourMs, nowMs)).toThrow('rotate without overlap');
    expect(importsWith(imports, next, 0, nowMs)).toEqual([next]);
  });

  test('is told from those before it, which say until when they work', () => {
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
});

test('the keys of a Secret are those that the operator tells', () => {
  const versions = [{ id: 7, fingerprint: '0123456789abcdef', state: 'Active' }];
  const key = { metadata: { name: 'bot', namespace: 'team-a' }, spec: {}, status: { versions } };
  expect(versionsOf(key, nowMs)).toEqual([
    { id: '7', name: '01234567', state: 'Active', notAfter: undefined },
  ]);
});

test.each([0, 24])('the operator is asked for a new key with %d hours of overlap', (hours) => {
  const { spec } = rotationPatch(hours, nowMs);
  expect(spec.rotation.overlap).toBe(`${hours}${hours === 0 ? 's' : 'h'}`);
  expect(
    parseApiKey({
      apiVersion: 'penstock.dev/v1alpha1',
      kind: 'ApiKey',
      metadata: { name: 'bot', namespace: 'team-a' },
      spec,
    }),
  ).toMatchObject({ ok: true });
});

describe('as YAML, a rotation is the whole object, which the operator takes', () => {
  const metadata = { name: 'bot', namespace: 'team-a', resourceVersion: '3' };
  const rest = { owner: { name: 'Ada' } };

  test('with the new key beside the old one, where keys are made in browsers', () => {
    const key = { metadata, spec: { ...rest, imports: [imported('a')] } };
    const minted = { ...next, key: 'psk_secret' };
    const manifest = rotatedManifest(key, { overlapHours: 1, nowMs, minted });
    expect(manifest).toMatchObject({
      spec: { ...rest, imports: [imported('a', '2026-11-23T13:00:00Z'), next] },
    });
    expect(JSON.stringify(manifest)).not.toMatch(/psk_secret|resourceVersion/);
    expect(parseApiKey(manifest)).toMatchObject({ ok: true });
  });

  test('with another trigger, where the operator makes them', () => {
    const key = { metadata, spec: { ...rest, rotation: { interval: '720h' } } };
    const manifest = rotatedManifest(key, { overlapHours: 24, nowMs, minted: undefined });
    expect(manifest).toMatchObject({
      spec: {
        ...rest,
        rotation: { interval: '720h', overlap: '24h', trigger: 'dashboard-2026-11-23T12:00:00Z' },
      },
    });
    expect(parseApiKey(manifest)).toMatchObject({ ok: true });
  });
});
