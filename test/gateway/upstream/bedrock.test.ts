// Are models of Bedrock reached at the paths that it takes, in the dialect of each model, and its refusals understood?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bedrockApisOf } from '../../../core/catalog/bedrock-models.ts';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { type Bedrock, startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type AskOptions, ask, type Endpoint, errorOf, textOf } from '../../flow/ask.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';

const key = 'bedrock-api-key-of-the-account-0123456789';
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const gpt = 'openai.gpt-oss-120b-1:0';
const openAi: readonly DialectName[] = ['openai-chat', 'openai-responses'];

const refusals = {
  throttled: [429, 'ThrottlingException', 'Too many requests, please wait before trying again.'],
  loading: [429, 'ModelNotReadyException', 'Model is not ready for inference.'],
  quota: [400, 'ServiceQuotaExceededException', 'Your request exceeds the service quota for your account.'],
  denied: [403, 'AccessDeniedException', "You don't have access to the model with the specified model ID."],
  ended: [403, 'ExpiredTokenException', 'The security token included in the request is expired'],
  unsigned: [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.'],
  gone: [
    404,
    'ResourceNotFoundException',
    'Could not resolve the foundation model from the model identifier.',
  ],
  slow: [
    408,
    'ModelTimeoutException',
    'Model has timed out in processing the request. Try your request again.',
  ],
  broken: [424, 'ModelErrorException', 'The model has failed to answer.'],
  profile: [
    400,
    'ValidationException',
    'Invocation of model ID anthropic.claude-x with on-demand throughput isn’t supported. Retry your request with an inference profile.',
  ],
  long: [400, 'ValidationException', 'Input is too long for requested model.'],
  wrong: [400, 'ValidationException', 'The value of temperature is above 1.'],
} as const;

let simulator: Simulator;
let bedrock: Bedrock;

beforeAll(async () => {
  simulator = await startSimulator();
  const refused = Object.entries(refusals).map(
    ([name, [status, type, message]]) => [`refused.${name}`, { status, type, message }] as const,
  );
  const models = { [claude]: 'sim', [gpt]: 'sim', ...Object.fromEntries(refused) };
  bedrock = await startBedrock({ key, models, upstream: simulator.url });
});
afterAll(async () => {
  await bedrock[Symbol.asyncDispose]();
  await simulator.close();
});

function target(model: string, dialects: readonly DialectName[], base = ''): RigTarget {
  return {
    baseUrl: bedrock.url + base,
    upstreamModel: model,
    dialects: [...dialects],
    keys: { main: key },
    providerEntry: {
      type: 'Bedrock',
      dialects: [...dialects],
      auth: { header: 'Authorization', prefix: 'Bearer ' },
    },
  };
}

async function callsOf(targets: readonly RigTarget[], endpoint: Endpoint, options: AskOptions = {}) {
  const rig = await startRig(tableOf(targets));
  try {
    const before = bedrock.calls.length;
    const seen = await ask(rig, { endpoint, ...options });
    return { seen, calls: bedrock.calls.slice(before), records: rig.records };
  } finally {
    await rig.close();
  }
}

describe('a model is served', () => {
  test.each<[string, Endpoint, string, readonly DialectName[], string]>([
    ['chat by chat', 'chat', gpt, openAi, '/openai/v1/chat/completions'],
    ['responses by responses', 'responses', gpt, openAi, '/openai/v1/responses'],
    ['messages through responses', 'messages', gpt, openAi, '/openai/v1/responses'],
    ['Claude by messages', 'messages', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
    ['Claude by chat', 'chat', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
    ['Claude by responses', 'responses', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
  ])('%s', async (_, endpoint, model, dialects, path) => {
    for (const isStream of [false, true]) {
      const { seen, calls } = await callsOf([target(model, dialects)], endpoint, { isStream });
      expect([seen.status, calls.map(({ url }) => url)]).toEqual([200, [path]]);
      expect(textOf(seen)).not.toBe('');
    }
  });

  test.each(['', '/openai', '/openai/v1', '/anthropic', '/v1'])(
    'from a base URL that ends in "%s"',
    async (base) => {
      const { seen, calls } = await callsOf([target(gpt, openAi, base)], 'chat');
      expect([seen.status, calls[0]?.url]).toEqual([200, '/openai/v1/chat/completions']);
    },
  );

  // Claude Code writes JSON into user_id, which Bedrock refuses: github.com/agentgateway/agentgateway/issues/1738.
  test('for an end user whose name Bedrock would refuse', async () => {
    const user = '{"device_id":"d","session_id":"s"}';
    const more = { metadata: { user_id: user } };
    const { seen, calls } = await callsOf([target(claude, ['anthropic-messages'])], 'messages', { more });
    expect(seen.status).toBe(200);
    const sent = JSON.parse(calls[0]?.body.toString() ?? '') as { metadata: { user_id: string } };
    expect(sent.metadata.user_id).toMatch(/^[0-9a-f]{64}$/);
  });

  // github.com/BerriAI/litellm/issues/37905.
  test('without what a client says to sign in, or of AWS', async () => {
    const headers = { 'x-amz-security-token': 'mine', 'x-amz-target': 'Other', 'x-amzn-trace-id': 'Root=1' };
    const { seen, calls } = await callsOf([target(claude, ['anthropic-messages'])], 'messages', { headers });
    expect(seen.status).toBe(200);
    const names = Object.keys(calls[0]?.headers ?? {});
    expect(names.filter((name) => name.startsWith('x-amz') || name === 'x-api-key')).toEqual([]);
    expect(calls[0]?.headers.authorization).toBe(`Bearer ${key}`);
  });
});

test.each<[string, readonly string[] | undefined]>([
  ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', ['Messages']],
  ['anthropic.claude-opus-4-6-v1', ['Messages']],
  ['global.anthropic.claude-opus-5-5', ['Messages']],
  [
    'arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ['Messages'],
  ],
  ['openai.gpt-oss-120b-1:0', ['ChatCompletions', 'Responses']],
  ['us.openai.gpt-5.6-sol', ['ChatCompletions', 'Responses']],
  ['xai.grok-4.7', ['ChatCompletions', 'Responses']],
  ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123', undefined],
])('the dialects of %s are known by its id', (model, apis) => {
  expect(bedrockApisOf(model)).toEqual(apis);
});

describe('a refusal of Bedrock', () => {
  const refused = (name: keyof typeof refusals): RigTarget => target(`refused.${name}`, openAi);

  test('of the key is the platform’s to mend, and quotes no key', async () => {
    const { seen } = await callsOf([{ ...target(gpt, openAi), keys: { main: `${key}x` } }], 'chat');
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_auth_failed']);
    expect(seen.text).not.toContain(key);
  });

  test.each([
    'throttled',
    'loading',
    'quota',
    'denied',
    'ended',
    'unsigned',
    'gone',
    'slow',
    'broken',
    'profile',
    'long',
  ] as const)('that says %s lets the next target take over', async (name) => {
    const { seen, records } = await callsOf([refused(name), target(gpt, openAi)], 'chat');
    expect(seen.status).toBe(200);
    expect(records.map(({ outcome }) => outcome).slice(-1)).toEqual(['answered']);
    expect(records[0]?.outcome).toBe('failed');
  });

  test('of what the caller asks is the caller’s to mend, and asked nowhere else', async () => {
    const { seen, calls } = await callsOf([refused('wrong'), target(gpt, openAi)], 'chat');
    expect([seen.status, errorOf(seen)?.code, calls.length]).toEqual([400, 'invalid_parameter', 1]);
    expect(seen.text).toContain('The value of temperature is above 1.');
  });

  test.each<[keyof typeof refusals, number, string]>([
    ['throttled', 429, 'rate_limit_exceeded'],
    ['loading', 503, 'upstream_overloaded'],
    ['quota', 429, 'rate_limit_exceeded'],
    ['denied', 502, 'upstream_auth_failed'],
    ['ended', 502, 'upstream_auth_failed'],
    ['gone', 404, 'model_not_found'],
    ['profile', 404, 'model_not_found'],
    ['long', 400, 'context_length_exceeded'],
  ])('that says %s is answered with %i %s where no target is left', async (name, status, code) => {
    const { seen } = await callsOf([refused(name)], 'chat');
    expect([seen.status, errorOf(seen)?.code]).toEqual([status, code]);
  });
});
