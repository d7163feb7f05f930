// What goes over the wire when a key is issued or rotated, and what becomes of each answer?

import { describe, expect, test } from 'vitest';
import { type KubeClient, KubeError, type KubeRequest } from '../../../core/kube/client.ts';
import { createKeyIssuer, type IssueFacts } from '../../../operator/keys/issue-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { isWellFormedKey } from '../../../operator/resources/key-material.ts';
import type { HeldSecret } from '../../../operator/watch/secrets.ts';
import { apiKey, secret } from '../make.ts';

const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const A = `psk_${'a'.repeat(49)}`;
const B = `psk_${'b'.repeat(49)}`;

const held: HeldSecret = {
  resourceVersion: '77',
  record: secret({
    name: 'bot-key',
    labels: { [ISSUED_SECRET_LABEL]: 'bot' },
    annotations: { 'penstock.dev/issued-at': '2026-05-01T00:00:00Z', 'penstock.dev/key-version': '1' },
    data: { apiKey: A, nextApiKey: B },
  }),
};

/** @param answer what the API server does; default: it takes everything. */
function issuing(answer: () => void = () => {}, spec: object = {}, metadataPrefixes: string[] = []) {
  const requests: KubeRequest[] = [];
  const client: KubeClient = {
    call(request) {
      requests.push(request);
      answer();
      return Promise.resolve({ metadata: { name: 'bot-key' } });
    },
    stream: () => Promise.reject(new Error('nothing is watched here')),
    close: () => Promise.resolve(),
  };
  const options = { client, keyPrefix: 'psk_', metadataPrefixes, wallMs: () => NOW_MS };
  const issuer = createKeyIssuer({ ...options, randomBytes: (size) => new Uint8Array(size).fill(7) });
  const object = apiKey(
    { imports: undefined, rotation: { trigger: 'now', overlap: '1h' }, ...spec },
    { uid: 'u-1', generation: 1 },
  );
  const facts = { secret: held, needsSecret: false, isOut: () => true };
  return {
    requests,
    tend: (more: Partial<IssueFacts> = {}) => issuer.tend(object, { ...facts, ...more }),
  };
}

const encoded = (text: string) => Buffer.from(text).toString('base64');

test('a new key goes into a new Secret, encoded, with its owner', async () => {
  const { tend, requests } = issuing();
  expect(await tend({ secret: undefined, needsSecret: true })).toEqual({ type: 'created' });
  const [{ method, path, body, query } = { method: 'GET', path: '' }] = requests;
  expect([method, path, query]).toEqual([
    'POST',
    '/api/v1/namespaces/team-a/secrets',
    { fieldManager: 'penstock-secret' },
  ]);
  expect(body).toMatchObject({
    type: 'Opaque',
    metadata: { name: 'bot-key', ownerReferences: [{ uid: 'u-1', controller: true }] },
  });
  const { data } = body as { data: { apiKey: string } };
  expect(isWellFormedKey('psk_', Buffer.from(data.apiKey, 'base64').toString())).toBe(true);
});

describe('labels and annotations on which other controllers act', () => {
  const asked = {
    labels: { app: 'ci', 'app.kubernetes.io/name': 'ci', 'argocd.argoproj.io/secret-type': 'cluster' },
    annotations: { note: 'x', 'replicator.example/replicate-to': '*', 'reloader.example/match': 'true' },
  };
  const none = () => {};
  const metadataOf = ([request]: readonly KubeRequest[]) => {
    const body = request?.body as { metadata?: { labels?: object; annotations?: object } } | undefined;
    return body?.metadata ?? {};
  };

  test('are not written to the Secret, unless the platform allows their prefix', async () => {
    const { tend, requests } = issuing(none, { secret: asked }, ['reloader.example']);
    await tend({ secret: undefined, needsSecret: true });
    const { labels, annotations } = metadataOf(requests);
    expect(labels).toEqual({
      app: 'ci',
      'app.kubernetes.io/name': 'ci',
      [ISSUED_SECRET_LABEL]: 'bot',
    });
    expect(annotations).toMatchObject({ note: 'x', 'reloader.example/match': 'true' });
    expect(JSON.stringify([labels, annotations])).not.toMatch(/replicat|argocd/);
  });

  test('are removed if the operator wrote them, and kept if others did', async () => {
    const { tend, requests } = issuing(none, {
      rotation: undefined,
      secret: { annotations: asked.annotations },
    });
    const written = {
      ...asked.annotations,
      'other.example/note': 'theirs',
      'penstock.dev/from-spec': Object.keys(asked.annotations)
        .sort()
        .map((name) => `annotation:${name}`)
        .join(' '),
    };
    const annotations = { ...held.record.annotations, ...written };
    const record = { ...held.record, annotations, data: { apiKey: A } };
    await tend({ secret: { ...held, record } });
    expect(metadataOf(requests).annotations).toEqual({
      'replicator.example/replicate-to': null,
      'reloader.example/match': null,
      'penstock.dev/from-spec': 'annotation:note',
    });
  });
});

test('a rotation is one write on the version that was read, with its own fields alone', async () => {
  const { tend, requests } = issuing();
  expect(await tend()).toEqual({ type: 'changed', step: 'promote' });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({
    method: 'PATCH',
    path: '/api/v1/namespaces/team-a/secrets/bot-key',
    contentType: 'application/merge-patch+json',
  });
  expect(requests[0]?.body).toEqual({
    metadata: {
      resourceVersion: '77',
      labels: {},
      annotations: {
        'penstock.dev/issued-at': '2026-06-01T00:00:00.000Z',
        'penstock.dev/key-version': '2',
        'penstock.dev/rotation-trigger': 'now',
        'penstock.dev/previous-not-after': '2026-06-01T01:00:00.000Z',
      },
      ownerReferences: [expect.objectContaining({ uid: 'u-1' })],
    },
    data: { apiKey: encoded(B), previousApiKey: encoded(A), nextApiKey: null },
  });
});

test('without a version to write on, nothing is written', async () => {
  const { tend, requests } = issuing();
  expect(await tend({ secret: { ...held, resourceVersion: undefined } })).toEqual({ type: 'stale' });
  // The Secret is there, but its values have not come.
  expect(await tend({ secret: undefined })).toEqual({ type: 'nothing' });
  expect(requests).toEqual([]);
});

test.each([
  [409, 'AlreadyExists', 'exists'],
  [409, 'Conflict', 'stale'],
  [404, 'NotFound', 'stale'],
  [403, 'Forbidden', 'refused'],
  [422, 'Invalid', 'refused'],
])('%i %s: %s', async (status, reason, type) => {
  const { tend } = issuing(() => {
    throw new KubeError(status, reason, 'no');
  });
  expect(await tend()).toMatchObject({ type });
});

test('an error that may pass is thrown', async () => {
  const { tend } = issuing(() => {
    throw new KubeError(503, 'ServiceUnavailable', 'later');
  });
  await expect(tend()).rejects.toThrow('later');
});
