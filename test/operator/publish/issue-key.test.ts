// What does the Secret of an issued key hold?

import { describe, expect, test } from 'vitest';
import { buildKeySecret } from '../../../operator/publish/issue-key.ts';
import { parseApiKey } from '../../../operator/resources/api-key.ts';
import { ISSUED_SECRET_LABEL } from '../../../operator/resources/issued-secret.ts';
import { apiKey } from '../make.ts';

function build(spec: object = {}, baseUrl?: string) {
  const parsed = parseApiKey(apiKey({ imports: undefined, ...spec }));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return buildKeySecret({ apiKey: parsed.value, uid: 'u-1', key: 'psk_x', baseUrl });
}

const decoded = ({ data }: ReturnType<typeof build>) =>
  Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
  );

describe('the Secret of a key', () => {
  test.each([
    [
      'nothing is asked for',
      {},
      'https://models.example',
      { apiKey: 'psk_x', baseURL: 'https://models.example' },
    ],
    ['no address is known', {}, undefined, { apiKey: 'psk_x' }],
    [
      'another name is asked for',
      { secret: { key: 'TOKEN' } },
      'http://a',
      { TOKEN: 'psk_x', baseURL: 'http://a' },
    ],
    [
      'the name of the address is asked for',
      { secret: { key: 'baseURL' } },
      'http://a',
      { baseURL: 'psk_x' },
    ],
  ])('holds the key and the address: %s', (_, spec, baseUrl, data) => {
    expect(decoded(build(spec, baseUrl))).toEqual(data);
  });

  test('belongs to its ApiKey, and cannot be taken for another one', () => {
    const { metadata } = build({
      secret: { name: 'mine', labels: { app: 'ci' } },
    });
    expect(metadata).toMatchObject({
      namespace: 'team-a',
      name: 'mine',
      labels: { [ISSUED_SECRET_LABEL]: 'bot', app: 'ci' },
      ownerReferences: [
        { apiVersion: 'penstock.dev/v1alpha1', kind: 'ApiKey', name: 'bot', uid: 'u-1', controller: true },
      ],
    });
    expect(metadata.ownerReferences[0]).not.toHaveProperty('blockOwnerDeletion');
  });
});
