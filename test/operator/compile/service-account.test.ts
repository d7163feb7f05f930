// What of a Google service account's key goes to the gateways, and which keys are refused?

import { describe, expect, test } from 'vitest';
import { provider, route, secret, snapshot, target } from '../make.ts';
import { compileOnce, condition } from './support.ts';

const key = {
  type: 'service_account',
  project_id: 'my-project',
  private_key_id: 'abc',
  private_key: '-----BEGIN PRIVATE KEY-----\nMIIsecret\n-----END PRIVATE KEY-----\n',
  client_email: 'penstock@my-project.iam.gserviceaccount.com',
  token_uri: 'https://oauth2.googleapis.com/token',
};

function compiled(value: string, targets: Readonly<Record<string, unknown>>[] = [target()]) {
  const auth = { type: 'GCP', keys: [{ name: 'main', secretRef: { name: 'openai', key: 'key' } }] };
  return compileOnce(
    snapshot({
      providers: [provider({ type: 'VertexAI', options: { project: 'my-project' }, auth })],
      modelRoutes: [route({ targets })],
      secrets: [secret({ data: { key: value } })],
    }),
  );
}

test('a key is stored as one text, with the members that a gateway needs, and not accepted for a header', () => {
  const { table } = compiled(`${JSON.stringify(key, null, 2)}\n`);
  expect(table.providers).toMatchObject([
    {
      type: 'VertexAI',
      auth: { header: 'Authorization', prefix: 'Bearer ' },
      settings: { project: 'my-project' },
    },
  ]);
  const [credential] = table.credentials;
  expect(JSON.parse(Buffer.from(credential?.value ?? '', 'base64').toString())).toEqual({
    client_email: key.client_email,
    private_key: key.private_key,
    private_key_id: key.private_key_id,
  });
});

describe('a key is refused, and not shown, if it', () => {
  test.each([
    ['is no JSON', 'AIza-secret', 'is not a JSON object'],
    ['is of a person', JSON.stringify({ ...key, type: 'authorized_user' }), 'has no valid type'],
    ['has no private key', JSON.stringify({ ...key, private_key: 'secret' }), 'has no valid private_key'],
    [
      'sends its claims to another address',
      JSON.stringify({ ...key, token_uri: 'https://tokens.example.com/secret' }),
      'has no valid token_uri',
    ],
  ])('%s', (_, value, words) => {
    const { reason, message } = condition(compiled(value), 'Provider', 'team-a/openai', 'ResolvedRefs');
    expect([reason, message]).toEqual(['SecretValueInvalid', expect.stringContaining(words)]);
    expect(message).not.toMatch(/MII|AIza|example\.com/);
  });
});

test.each([
  ['gemini-3.8-flash', ['google-generate-content']],
  ['google/gemini-3.8-flash', ['google-generate-content']],
  ['endpoints/1234567890', ['google-generate-content']],
  ['claude-sonnet-4-5@20250929', ['anthropic-messages']],
  ['meta/llama-4-maverick-17b-128e-instruct-maas', ['openai-chat']],
])('the model %s is called in %j', (upstreamModel, dialects) => {
  const { table } = compiled(JSON.stringify(key), [target({ upstreamModel })]);
  expect(table.routes[0]?.targets[0]?.dialects).toEqual(dialects);
});
