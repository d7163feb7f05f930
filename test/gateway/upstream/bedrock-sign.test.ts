// Is a request signed as AWS recomputes it? Signatures that the SDKs of AWS make of the same requests, and a server that recomputes its own.

import { describe, expect, test } from 'vitest';
import { parseAwsCredentials } from '../../../core/contract/aws-credentials.ts';
import { signerFor } from '../../../gateway/upstream/bedrock/sign.ts';
import { startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { ask, errorOf, textOf } from '../../flow/ask.ts';
import { startRig, tableOf } from '../rig.ts';

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'SESSION/TOKEN+EXAMPLE=',
};
const runtime = 'bedrock-runtime.us-east-1.amazonaws.com';
const mantle = 'bedrock-mantle.us-east-1.api.aws';

// Made with botocore and with @smithy/signature-v4, which agree.
test.each([
  [
    'cloud 1: the colon of an id',
    'bedrock',
    runtime,
    '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse',
    '{"messages":[]}',
    'b16ffe8852231c9e5728f1ce1edf5a2c565b5769d77006f401fb3810f223c080',
  ],
  [
    'cloud 1: the slash of an ARN',
    'bedrock',
    runtime,
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/converse-stream',
    '{"messages":[]}',
    '0e9dbc8debaf5178913e1febb50ab1d121c7d9ac715c45e44da6c5f5091fc495',
  ],
  [
    'cloud 5: the name of mantle',
    'bedrock-mantle',
    mantle,
    '/v1/responses',
    '{"model":"openai.gpt-oss-120b","input":"hi"}',
    '0f4b15e994bb3f21fa9f09e708520a6f57eda0b7fee42789eedb149c5ed1da3f',
  ],
])('%s is signed as the SDKs do', (_, service, host, path, body, signature) => {
  const sign = signerFor(credentials, { region: 'us-east-1', service });
  const headers = [
    'content-type',
    'application/json',
    'accept',
    '*/*',
    'user-agent',
    'penstock',
    'traceparent',
    '0',
  ];
  const half = body.length >> 1;
  const parts = [Buffer.from(body.slice(0, half)), Buffer.from(body.slice(half))];
  const added = sign({ method: 'POST', host, path, query: '', headers }, parts, Date.UTC(2026, 10, 26, 12));
  expect(added).toEqual([
    'x-amz-date',
    '20261126T120000Z',
    'x-amz-security-token',
    'SESSION/TOKEN+EXAMPLE=',
    'authorization',
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261126/us-east-1/${service}/aws4_request, ` +
      `SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=${signature}`,
  ]);
});

test('cloud 6: each day and each request has a different signature', () => {
  const sign = signerFor(credentials, { region: 'us-east-1', service: 'bedrock' });
  const request = { method: 'POST', host: runtime, path: '/a', query: '', headers: [] } as const;
  const made = [0, 1_000, 86_400_000].map((later) =>
    sign(request, [], Date.UTC(2026, 10, 26) + later).at(-1),
  );
  expect(new Set(made).size).toBe(3);
});

const file = (more = ''): string =>
  `[default]\naws_access_key_id = AKIDEXAMPLE0123456\naws_secret_access_key=${credentials.secretAccessKey}\n${more}`;

describe('a credentials file', () => {
  test('is read with and without a session', () => {
    expect(parseAwsCredentials(file())).toEqual({
      accessKeyId: 'AKIDEXAMPLE0123456',
      secretAccessKey: credentials.secretAccessKey,
    });
    expect(parseAwsCredentials(file('aws_session_token = T+/=\r\nregion = eu-west-1\n'))?.sessionToken).toBe(
      'T+/=',
    );
  });

  test.each([
    ['a key of Bedrock', 'bedrock-api-key-abc'],
    ['no secret', '[default]\naws_access_key_id = AKIDEXAMPLE0123456\n'],
    ['two profiles', `${file()}\n[other]\n`],
    ['a wrong id', file().replace('AKIDEXAMPLE0123456', 'no')],
  ])('with %s is not a credentials file', (_, text) => {
    expect(parseAwsCredentials(text)).toBeUndefined();
  });
});

describe('cloud 2: a server that computes the signature again', () => {
  const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
  const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
  const signing = {
    accessKeyId: 'AKIDEXAMPLE0123456',
    secretAccessKey: credentials.secretAccessKey,
    sessionToken: 'T+/=',
    region: 'us-east-1',
    service: 'bedrock',
  };

  async function askSigned(
    key: string,
    upstreamModel: string,
    dialect: 'anthropic-messages' | 'bedrock-converse',
    more: object = {},
  ) {
    await using parts = new AsyncDisposableStack();
    const simulator = await startSimulator();
    parts.defer(() => simulator.close());
    const models = { [model]: 'sim', [profile]: 'sim' };
    const bedrock = parts.use(await startBedrock({ key: 'other', signing, models, upstream: simulator.url }));
    const rig = await startRig(
      tableOf([
        {
          baseUrl: bedrock.url,
          upstreamModel,
          dialects: [dialect],
          keys: { main: key },
          providerEntry: {
            type: 'Bedrock',
            dialects: [dialect],
            auth: { header: 'Authorization', prefix: 'Bearer ' },
            settings: { region: 'us-east-1' },
          },
        },
      ]),
    );
    parts.defer(() => rig.close());
    const seen = [];
    for (const isStream of [false, true]) seen.push(await ask(rig, { endpoint: 'messages', isStream, more }));
    return { seen, calls: bedrock.calls };
  }

  test.each([
    ['messages', model, 'anthropic-messages'],
    ['Converse', model, 'bedrock-converse'],
    ['Converse of an ARN', profile, 'bedrock-converse'],
  ] as const)('takes %s', async (_, upstreamModel, dialect) => {
    const { seen } = await askSigned(file('aws_session_token = T+/='), upstreamModel, dialect);
    expect(seen.map(({ status }) => status)).toEqual([200, 200]);
    for (const answer of seen) expect(textOf(answer)).not.toBe('');
  });

  test('accepts a body that is sent in many chunks', async () => {
    const messages = [{ role: 'user', content: 'words ü '.repeat(40_000) }];
    const { seen } = await askSigned(file('aws_session_token = T+/='), model, 'anthropic-messages', {
      messages,
    });
    expect(seen.map(({ status }) => status)).toEqual([200, 200]);
  });

  test('refuses another secret, which appears nowhere', async () => {
    const wrong = file('aws_session_token = T+/=').replace('wJalr', 'xJalr');
    const { seen } = await askSigned(wrong, model, 'bedrock-converse');
    expect(seen.map((answer) => errorOf(answer)?.code)).toEqual([
      'upstream_auth_failed',
      'upstream_auth_failed',
    ]);
    expect(seen.map(({ text }) => text).join()).not.toContain('xJalr');
  });
});
