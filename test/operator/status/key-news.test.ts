// What learns of the keys of an ApiKey from one status to the next?

import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { encodeKey } from '../../../operator/resources/key-material.ts';
import { keyNews } from '../../../operator/status/key-news.ts';
import type { ObjectStatus } from '../../../operator/status/object-status.ts';
import { apiKey, secret } from '../make.ts';
import { judge, look, NOW_MS, withStatus, written } from './status-support.ts';

type State = 'Active' | 'Retiring' | 'Expired';

const status = (...versions: (readonly [id: number, state: State])[]) => ({
  secretName: 'bot-key',
  versions: versions.map(([id, state]) => ({
    id,
    state,
    fingerprint: String(id).repeat(16),
    ...(state === 'Active' ? {} : { notAfter: '2026-06-02T00:00:00Z' }),
  })),
});

test.each([
  ['the first key', status(), status([1, 'Active']), []],
  ['nothing new', status([1, 'Active']), status([1, 'Active']), []],
  ['a rotation', status([1, 'Active']), status([2, 'Active'], [1, 'Retiring']), ['KeyRotated']],
  ['an end', status([2, 'Active'], [1, 'Retiring']), status([2, 'Active'], [1, 'Expired']), []],
  ['a retirement', status([2, 'Active'], [1, 'Expired']), status([2, 'Active']), ['KeyRetired']],
  ['a rotation without overlap', status([1, 'Active']), status([2, 'Active']), ['KeyReplaced']],
  ['a Secret that is gone', status([1, 'Active']), status([1, 'Expired']), []],
  ['and made again', status([1, 'Expired']), status([2, 'Active']), ['KeyReplaced']],
  [
    'a Secret made again in an overlap',
    status([2, 'Active'], [1, 'Retiring']),
    status([3, 'Active']),
    ['KeyReplaced', 'KeyRetired'],
  ],
  [
    'a rotation right after another',
    status([2, 'Active'], [1, 'Expired']),
    status([3, 'Active'], [2, 'Retiring']),
    ['KeyRotated', 'KeyRetired'],
  ],
] as const)('%s', (_, before, after, reasons) => {
  expect(keyNews(before, after).map(({ reason }) => reason)).toEqual(reasons);
});

test('keys that were made elsewhere cause no event', () => {
  const { secretName: _, ...before } = status([1, 'Active']);
  const { secretName: __, ...after } = status([2, 'Active']);
  expect(keyNews(before, after)).toEqual([]);
});

describe('imports that replace a key made here', () => {
  const issuedKey = encodeKey('psk_', Buffer.alloc(32, 7));
  const name = 'ci-key';
  const labels = { [ISSUED_SECRET_LABEL]: 'bot' };
  const own = secret({ name, labels, data: { apiKey: issuedKey } });
  const issuable = (spec: object = {}) => apiKey({ imports: undefined, secret: { name }, ...spec });
  const statusOf = (object: ReturnType<typeof apiKey>, secrets = [own]): ObjectStatus => {
    const facts = { waitingSinceMs: 0, nowMs: NOW_MS };
    return written(look(object, judge('ApiKey', { apiKeys: [object], secrets }), facts));
  };
  const turned = (before: ObjectStatus, sha256 = 'c'.repeat(64)) => {
    const object = issuable({ imports: [{ sha256 }] });
    return keyNews(before, statusOf(withStatus(object, before)));
  };

  test('keep the Secret, and an event has its name and the command to delete it', () => {
    const [event, ...more] = turned(statusOf(issuable()));
    expect(more).toEqual([]);
    expect(event).toMatchObject({ type: 'Normal', reason: 'Imported' });
    expect(event?.note).toMatch(
      /^Secret ci-key, .* stays; .* no longer works\..* kubectl delete secret ci-key$/,
    );
    expect(event?.note).not.toContain(issuedKey);
  });

  test('with its own hash: the event does not call the key dead', () => {
    const [event] = turned(statusOf(issuable()), hash('sha256', issuedKey));
    expect(event?.note).toMatch(/stays; spec.imports has the hash of its key\. /);
  });

  test.each([
    ['was not written yet', []],
    ["is somebody else's", [{ ...own, labels: {} }]],
  ])('cause no event if the Secret %s', (_, secrets) => {
    expect(turned(statusOf(issuable(), secrets))).toEqual([]);
  });

  test('that change afterwards cause no second event', () => {
    expect(turned(statusOf(issuable({ imports: [{ sha256: 'd'.repeat(64) }] })))).toEqual([]);
  });
});
