// What is in the Secret that is written for an ApiKey?

import { expect, test } from 'vitest';
import { createDeployer } from '../../local/deploy.ts';
import { issueKeys } from '../../local/issue.ts';
import type { KeyStore } from '../../local/key-store.ts';
import { noManifests } from '../../local/manifests.ts';
import { apiKey } from '../operator/make.ts';

const keyStore: KeyStore = {
  keyFor: ({ name }, prefix) => Promise.resolve(`${prefix}${name}`),
  pathOf: ({ name }) => name,
};

async function issue(secret: object) {
  const { secrets } = await issueKeys(
    { ...noManifests, apiKeys: [apiKey({ imports: [], secret })] },
    keyStore,
    'psk_',
    'http://gateway/v1',
  );
  return secrets[0];
}

test('it carries the labels and annotations of spec.secret', async () => {
  const secret = await issue({ labels: { app: 'ci' }, annotations: { note: 'for the nightly run' } });
  expect(secret?.labels).toMatchObject({ app: 'ci' });
  expect(secret?.annotations).toEqual({ note: 'for the nightly run' });
});

test('it has its own label beside the requested ones; requests for that label are refused', async () => {
  const secret = await issue({ labels: { app: 'ci' } });
  expect(secret?.labels).toEqual({ 'penstock.dev/api-key': expect.stringMatching(/./), app: 'ci' });
  expect(await issue({ labels: { 'penstock.dev/api-key': 'another' } })).toBeUndefined();
});

test('a rotation is refused in local mode', async () => {
  const deployer = createDeployer({
    keyStore: { ...keyStore, keyFor: (_, prefix) => Promise.resolve(`${prefix}${'a'.repeat(49)}`) },
    wallMs: () => 0,
    baseUrl: 'http://gateway/v1',
    prepare: (manifests) => manifests,
    offer: () => {},
  });
  const rotating = apiKey({ imports: [], rotation: { interval: '48h', overlap: '1h' } });
  const { notes, problems } = await deployer.deploy({ ...noManifests, apiKeys: [rotating, apiKey()] });
  expect(problems).toEqual([]);
  expect(notes.map(({ text }) => text)).toEqual([
    'ApiKey team-a/bot: spec.rotation works on Kubernetes only; local mode keeps the key',
  ]);
});
