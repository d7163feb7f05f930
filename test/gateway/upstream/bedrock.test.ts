// Are models of Bedrock reached at the paths that it takes, in the dialect of each model, and its refusals understood?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bedrockApisOf } from '../../../core/catalog/bedrock-models.ts';
import type { UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { buildTableView } from '../../../gateway/table/view.ts';
import { bedrockAddress } from '../../../gateway/upstream/bedrock/address.ts';
import { type Bedrock, startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { type AskOptions, ask, type Endpoint, errorOf, textOf } from '../../flow/ask.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';
import { askForCount } from './ask-for-count.ts';

const key = 'bedrock-api-key-of-the-account-0123456789';
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const gpt = 'openai.gpt-oss-120b-1:0';
const nova = 'us.amazon.nova-pro-v1:0';
const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123';
const converse: readonly UpstreamDialectName[] = ['bedrock-converse'];
const openAi: readonly UpstreamDialectName[] = ['openai-chat', 'openai-responses'];

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

/** What the model behind each id does. */
const scripted = {
  'us.anthropic.claude-calls-4-5': 'sim+calls=2+reasoning=8',
  'us.anthropic.claude-fails-4-5': 'sim+fault=error-503',
  'us.anthropic.claude-breaks-4-5': 'sim+fault=error-first+status=503',
  'us.anthropic.claude-stops-4-5': 'sim+fault=error-after:3',
  'us.anthropic.claude-filtered-4-5': 'sim+refusal',
  'us.anthropic.claude-cut-4-5': 'sim+fault=cut-after:3',
  'us.anthropic.claude-opus-4-8': 'sim',
  'us.anthropic.claude-sonnet-5': 'sim',
};

let simulator: Simulator;
let bedrock: Bedrock;

beforeAll(async () => {
  simulator = await startSimulator();
  const refused = Object.entries(refusals).map(
    ([name, [status, type, message]]) => [`refused.${name}`, { status, type, message }] as const,
  );
  const models = {
    ...scripted,
    [claude]: 'sim',
    [gpt]: 'sim',
    [nova]: 'sim',
    [profile]: 'sim',
    ...Object.fromEntries(refused),
  };
  bedrock = await startBedrock({ key, models, upstream: simulator.url });
});
afterAll(async () => {
  await bedrock[Symbol.asyncDispose]();
  await simulator.close();
});

function target(model: string, dialects: readonly UpstreamDialectName[], base = ''): RigTarget {
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
  test.each<[string, Endpoint, string, readonly UpstreamDialectName[], string]>([
    ['chat by chat', 'chat', gpt, openAi, '/openai/v1/chat/completions'],
    ['responses by responses', 'responses', gpt, openAi, '/openai/v1/responses'],
    ['messages through responses', 'messages', gpt, openAi, '/openai/v1/responses'],
    ['chat by Converse', 'chat', nova, converse, '/model/us.amazon.nova-pro-v1%3A0/converse'],
    ['responses by Converse', 'responses', nova, converse, '/model/us.amazon.nova-pro-v1%3A0/converse'],
    ['messages by Converse', 'messages', claude, converse, `/model/${encodeURIComponent(claude)}/converse`],
    ['completions by Converse', 'completions', nova, converse, '/model/us.amazon.nova-pro-v1%3A0/converse'],
    [
      'a profile by its ARN',
      'chat',
      profile,
      converse,
      '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/converse',
    ],
    ['Claude by messages', 'messages', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
    ['Claude by chat', 'chat', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
    ['Claude by responses', 'responses', claude, ['anthropic-messages'], '/anthropic/v1/messages'],
  ])('%s', async (_, endpoint, model, dialects, path) => {
    for (const isStream of [false, true]) {
      const { seen, calls } = await callsOf([target(model, dialects)], endpoint, { isStream });
      const sent = isStream && dialects === converse ? `${path}-stream` : path;
      expect([seen.status, calls.map(({ url }) => url)]).toEqual([200, [sent]]);
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
  test('cloud 34: for an end user whose name Bedrock would refuse', async () => {
    const user = '{"device_id":"d","session_id":"s"}';
    const more = { metadata: { user_id: user } };
    const { seen, calls } = await callsOf([target(claude, ['anthropic-messages'])], 'messages', { more });
    expect(seen.status).toBe(200);
    const sent = JSON.parse(calls[0]?.body.toString() ?? '') as { metadata: { user_id: string } };
    expect(sent.metadata.user_id).toMatch(/^[0-9a-f]{64}$/);
  });

  // github.com/BerriAI/litellm/issues/37905.
  test('cloud 3: without the credentials of a client, or headers of AWS', async () => {
    const headers = { 'x-amz-security-token': 'mine', 'x-amz-target': 'Other', 'x-amzn-trace-id': 'Root=1' };
    const { seen, calls } = await callsOf([target(claude, ['anthropic-messages'])], 'messages', { headers });
    expect(seen.status).toBe(200);
    const names = Object.keys(calls[0]?.headers ?? {});
    expect(names.filter((name) => name.startsWith('x-amz') || name === 'x-api-key')).toEqual([]);
    expect(calls[0]?.headers.authorization).toBe(`Bearer ${key}`);
  });
});

test.each<[string, readonly string[]]>([
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
  ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123', ['Converse']],
  ['anthropic.claude-3-haiku-20240307-v1:0', ['Converse']],
  ['amazon.nova-pro-v1:0', ['Converse']],
  ['us.meta.llama4-maverick-17b-instruct-v1:0', ['Converse']],
])('the dialects of %s are known by its id', (model, apis) => {
  expect(bedrockApisOf(model, { host: 'bedrock-runtime.us-east-1.amazonaws.com' })).toEqual(apis);
});

describe('at a host named mantle, which has no Converse,', () => {
  test.each<[string, string, UpstreamDialectName, readonly string[], string]>([
    ['anthropic.claude-sonnet-5', '/messages', 'anthropic-messages', ['Messages'], '/anthropic/v1/messages'],
    [
      'openai.gpt-oss-120b',
      '/responses',
      'openai-responses',
      ['ChatCompletions', 'Responses'],
      '/v1/responses',
    ],
    [
      'openai.gpt-5.5',
      '/responses',
      'openai-responses',
      ['ChatCompletions', 'Responses'],
      '/openai/v1/responses',
    ],
    [
      'xai.grok-4.7',
      '/responses',
      'openai-responses',
      ['ChatCompletions', 'Responses'],
      '/openai/v1/responses',
    ],
    ['qwen.qwen3-32b', '/chat/completions', 'openai-chat', ['ChatCompletions'], '/v1/chat/completions'],
    [
      'google.gemma-4-31b',
      '/chat/completions',
      'openai-chat',
      ['ChatCompletions'],
      '/openai/v1/chat/completions',
    ],
  ])('%s is served', (model, path, dialect, apis, sent) => {
    for (const host of [
      'bedrock-mantle.us-east-1.api.aws',
      'vpce-1.bedrock-mantle.us-east-1.vpce.amazonaws.com',
    ]) {
      expect(bedrockApisOf(model, { host })).toEqual(apis);
      const table = tableOf([{ ...target(model, [dialect]), baseUrl: `https://${host}/v1` }]);
      const [provider] = buildTableView(table).providers.values();
      const asked = { model, dialect, operation: 'generate', isStream: false, path, query: '' } as const;
      expect(provider && bedrockAddress(provider, asked)).toEqual({ host, path: sent, query: '' });
    }
  });
});

describe('a refusal of Bedrock', () => {
  const refused = (name: keyof typeof refusals): RigTarget => target(`refused.${name}`, openAi);

  test('of the key is an error of the platform, and quotes no key', async () => {
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

  test('of the request is an error of the caller, and not sent to other targets', async () => {
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

test.each([
  ['through structured output', claude, true],
  ['through a tool', 'us.anthropic.claude-opus-4-8', false],
  ['through a tool', 'us.anthropic.claude-sonnet-5', false],
])('a chat gets an answer by a schema %s from %s', async (_, model, isStructured) => {
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const more = { response_format: { type: 'json_schema', json_schema: { name: 'place', schema } } };
  const { seen, calls } = await callsOf([target(model, ['anthropic-messages'])], 'chat', { more });
  expect([seen.status, JSON.parse(textOf(seen))]).toEqual([200, { city: expect.any(String) }]);
  expect(calls.map(({ body }) => body.includes('output_config'))).toEqual([isStructured]);
});

describe('a tool loop through Converse', () => {
  const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
  const asked = 'What is the weather in two places?';
  const model = 'us.anthropic.claude-calls-4-5';

  // The strict front demands every result in one turn and each block in its form; the model behind it, its own signatures.
  test.each([false, true])(
    'cloud 30: keeps calls, results and signed thinking in messages, streamed: %s',
    async (isStream) => {
      const tools = [{ name: 'weather', input_schema: parameters }];
      const thinking = { type: 'enabled', budget_tokens: 1024 };
      const rig = await startRig(tableOf([target(model, converse)]));
      try {
        const question = { role: 'user', content: asked };
        const first = await ask(rig, {
          endpoint: 'messages',
          more: { tools, thinking, max_tokens: 4000, messages: [question] },
        });
        expect(first.status).toBe(200);
        const {
          content,
          stop_reason: reason,
          usage,
        } = JSON.parse(first.text) as {
          content: { type: string; id?: string; signature?: string }[];
          stop_reason: string;
          usage: { output_tokens: number };
        };
        expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use', 'tool_use']);
        expect([reason, usage.output_tokens > 0]).toEqual(['tool_use', true]);
        const results = content.flatMap(({ type, id }) =>
          type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'rain' }] : [],
        );
        const messages = [question, { role: 'assistant', content }, { role: 'user', content: results }];
        const before = bedrock.calls.length;
        const second = await ask(rig, {
          endpoint: 'messages',
          isStream,
          more: { tools, thinking, max_tokens: 4000, messages },
        });
        expect(second.status).toBe(200);
        expect(textOf(second)).not.toBe('');
        const sent = JSON.parse(bedrock.calls[before]?.body.toString() ?? '') as {
          messages: { content: { reasoningContent?: { reasoningText: { signature: string } } }[] }[];
        };
        const signature = sent.messages[1]?.content[0]?.reasoningContent?.reasoningText.signature ?? '';
        expect(signature).not.toBe('');
        expect(signature.startsWith('penstock.')).toBe(false);
      } finally {
        await rig.close();
      }
    },
  );

  test.each([false, true])('keeps calls and results in chat, streamed: %s', async (isStream) => {
    const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
    const rig = await startRig(tableOf([target(model, converse)]));
    try {
      const question = { role: 'user', content: asked };
      const first = await ask(rig, { more: { tools, messages: [question] } });
      const [choice] = (
        JSON.parse(first.text) as {
          choices: { message: { tool_calls: { id: string }[] }; finish_reason: string }[];
        }
      ).choices;
      const calls = choice?.message.tool_calls ?? [];
      expect([choice?.finish_reason, new Set(calls.map(({ id }) => id)).size]).toEqual(['tool_calls', 2]);
      const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'rain' }));
      const messages = [question, choice?.message, ...results];
      const second = await ask(rig, { isStream, more: { tools, messages } });
      expect([second.status, errorOf(second)]).toEqual([200, undefined]);
      expect(textOf(second)).not.toBe('');
    } finally {
      await rig.close();
    }
  });
});

describe('a request that a guardrail of Bedrock blocks', () => {
  const ends = {
    chat: '"finish_reason":"content_filter"',
    responses: '"status":"completed"',
    messages: '"stop_reason":"refusal"',
  };

  test.each([false, true])(
    'is the refusal of the dialect, and does not count against the upstream, as a stream: %s',
    async (isStream) => {
      const filtered = target('us.anthropic.claude-filtered-4-5', converse);
      for (const endpoint of ['chat', 'responses', 'messages'] as const) {
        const { seen, calls, records } = await callsOf([filtered, target(nova, converse)], endpoint, {
          isStream,
        });
        expect([seen.status, calls.length]).toEqual([200, 1]);
        expect(seen.text).toContain(ends[endpoint]);
        expect(records.map(({ outcome }) => outcome)).toEqual(['answered']);
      }
    },
  );
});

test('cloud 32: frames of AWS reach clients as events of their dialect', async () => {
  for (const endpoint of ['chat', 'responses', 'messages'] as const) {
    const { seen } = await callsOf([target(nova, converse)], endpoint, { isStream: true });
    expect(seen.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(seen.text).toMatch(/^(event|data): /);
  }
});

// github.com/BerriAI/litellm/issues/27626.
test('cloud 33: an unsupported count, which the runtime answers with 200, is estimated', async () => {
  const rig = await startRig(tableOf([target(claude, ['anthropic-messages'])]));
  try {
    expect(await askForCount(rig)).toMatchObject({ status: 200, isEstimated: true });
  } finally {
    await rig.close();
  }
});

describe('a failure of Converse', () => {
  const failing = (name: string): RigTarget => target(`us.anthropic.claude-${name}-4-5`, converse);

  test.each([
    ['before its answer', 'fails'],
    ['cloud 26: with an exception before its first word', 'breaks'],
  ])('%s lets the next target take over', async (_, name) => {
    const { seen, records } = await callsOf([failing(name), target(nova, converse)], 'chat', {
      isStream: true,
    });
    expect([seen.status, records.at(-1)?.outcome]).toEqual([200, 'answered']);
    expect(records[0]?.outcome).toBe('failed');
    expect(textOf(seen)).not.toBe('');
  });

  // A stream that ends without its message stop must never look whole.
  test.each(['stops', 'cut'])(
    '%s in the middle of its stream reaches the client as an error',
    async (name) => {
      for (const endpoint of ['chat', 'messages', 'responses'] as const) {
        const { seen, records } = await callsOf([failing(name)], endpoint, { isStream: true });
        expect(seen.status).toBe(200);
        expect(errorOf(seen)).toBeDefined();
        expect(records.map(({ outcome }) => outcome)).toEqual(['broken-off']);
      }
    },
  );

  test('of the request is an error of the caller', async () => {
    const more = { messages: [{ role: 'user', content: 'a' }], temperature: 0.5, max_tokens: 0 };
    const { seen } = await callsOf([target(nova, converse)], 'chat', { more });
    expect(seen.status).toBe(400);
  });
});

test('the record of a call has the token counts of Converse', async () => {
  for (const isStream of [false, true]) {
    const { records } = await callsOf([target(claude, converse)], 'chat', { isStream });
    expect(records[0]).toMatchObject({ upstreamDialect: 'bedrock-converse', outcome: 'answered' });
    expect(records[0]?.usage.input).toBeGreaterThan(0);
    expect(records[0]?.usage.output).toBeGreaterThan(0);
    expect(records[0]?.isEstimated ?? false).toBe(false);
  }
});
