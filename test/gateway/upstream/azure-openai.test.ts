// Are deployments of Azure OpenAI and Foundry reached at the paths, versions and headers that Azure takes, and its refusals understood?

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { type Azure, startAzure } from '../../../simulator/clouds/azure.ts';
import { type Simulator, startSimulator } from '../../../simulator/server.ts';
import { ask, type Endpoint, errorOf, textOf } from '../../flow/ask.ts';
import { startWall } from '../../support/wall.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';

const key = 'azure-key-of-the-resource-0123456789';
const openAi: readonly DialectName[] = ['openai-chat', 'openai-responses'];
const claude: readonly DialectName[] = ['anthropic-messages'];

let simulator: Simulator;
let azure: Azure;

beforeAll(async () => {
  simulator = await startSimulator();
  const deployments = {
    'my.gpt_prod': 'sim',
    'claude-sonnet-5': 'sim',
    blocked: { status: 400, error: blockedPrompt },
    filtered: 'sim+filter',
  };
  azure = await startAzure({ key, deployments, upstream: simulator.url });
});
afterAll(async () => {
  await azure[Symbol.asyncDispose]();
  await simulator.close();
});

function target(
  more: { base?: string; version?: string; dialects?: readonly DialectName[] } = {},
): RigTarget {
  const { base = '', version, dialects = openAi } = more;
  return {
    baseUrl: azure.url + base,
    upstreamModel: dialects === claude ? 'claude-sonnet-5' : 'my.gpt_prod',
    dialects: [...dialects],
    keys: { main: key },
    providerEntry: {
      type: 'AzureOpenAI',
      dialects: [...dialects],
      auth: { header: 'api-key', prefix: '' },
      ...(version === undefined ? {} : { settings: { apiVersion: version } }),
    },
  };
}

async function callsOf(targets: readonly RigTarget[], endpoint: Endpoint, isStream = false) {
  const rig = await startRig(tableOf(targets));
  try {
    const before = azure.calls.length;
    const seen = await ask(rig, { endpoint, isStream });
    return { seen, paths: azure.calls.slice(before), records: rig.records };
  } finally {
    await rig.close();
  }
}

describe('a deployment is served', () => {
  test.each<[string, Endpoint, Parameters<typeof target>[0], string]>([
    ['cloud 13: chat at v1', 'chat', {}, '/openai/v1/chat/completions'],
    ['responses at v1', 'responses', {}, '/openai/v1/responses'],
    ['messages through responses at v1', 'messages', {}, '/openai/v1/responses'],
    ['completions through chat at v1', 'completions', {}, '/openai/v1/chat/completions'],
    [
      'chat at v1 with a preview',
      'chat',
      { version: 'preview' },
      '/openai/v1/chat/completions?api-version=preview',
    ],
    [
      'cloud 13: chat with a dated version',
      'chat',
      { version: '2024-10-21' },
      '/openai/deployments/my.gpt_prod/chat/completions?api-version=2024-10-21',
    ],
    [
      'responses with a dated version',
      'responses',
      { version: '2025-04-01-preview' },
      '/openai/responses?api-version=2025-04-01-preview',
    ],
    ['cloud 18: Claude by messages', 'messages', { dialects: claude }, '/anthropic/v1/messages'],
    ['Claude by chat', 'chat', { dialects: claude }, '/anthropic/v1/messages'],
    [
      'Claude by responses',
      'responses',
      { dialects: claude, version: '2024-10-21' },
      '/anthropic/v1/messages',
    ],
  ])('%s', async (_, endpoint, more, path) => {
    for (const isStream of [false, true]) {
      const { seen, paths } = await callsOf([target(more)], endpoint, isStream);
      expect([seen.status, paths]).toEqual([200, [path]]);
      expect(textOf(seen)).not.toBe('');
    }
  });

  // A base URL that already ends in /openai/v1 must not get another /v1: github.com/anomalyco/opencode/issues/1508.
  test.each(['', '/openai', '/openai/v1', '/openai/deployments/other', '/anthropic', '/anthropic/v1'])(
    'cloud 14: from a base URL that ends in "%s"',
    async (base) => {
      const { seen, paths } = await callsOf([target({ base })], 'chat');
      expect([seen.status, paths]).toEqual([200, ['/openai/v1/chat/completions']]);
    },
  );

  test('behind an API gateway with another header and path', async () => {
    const wall = await startWall();
    const { providerEntry, ...rest } = target();
    const front: RigTarget = {
      ...rest,
      baseUrl: `http://127.0.0.1:${wall.port}/team/openai/v1`,
      providerEntry: { ...providerEntry, auth: { header: 'Ocp-Apim-Subscription-Key', prefix: '' } },
    };
    try {
      await callsOf([front], 'chat');
      const [call] = wall.calls;
      expect(call?.path).toBe('/team/openai/v1/chat/completions');
      expect(call?.headers['ocp-apim-subscription-key']).toBe(key);
      expect(call?.headers['api-key']).toBeUndefined();
    } finally {
      await wall.close();
    }
  });
});

const blockedPrompt = {
  code: 'content_filter',
  message: 'The response was filtered due to the prompt triggering a content management policy.',
  param: 'prompt',
  status: 400,
  innererror: {
    code: 'ResponsibleAIPolicyViolation',
    content_filter_result: { jailbreak: { filtered: true, detected: true } },
  },
};

test('cloud 15: chunks about filters are neither an answer nor its end', async () => {
  for (const endpoint of ['chat', 'responses', 'messages', 'completions'] as const) {
    const chat = { ...target(), dialects: ['openai-chat' as const] };
    const { seen, records } = await callsOf([chat], endpoint, true);
    expect([seen.status, errorOf(seen)]).toEqual([200, undefined]);
    expect(textOf(seen)).toContain('the simulator speaking');
    expect(records).toMatchObject([{ outcome: 'answered', isEstimated: false }]);
  }
});

describe('a request that a filter of Azure blocks', () => {
  test.each(['chat', 'responses', 'messages', 'completions'] as const)(
    'cloud 16: of a prompt is refused once, and does not count against the upstream, for %s',
    async (endpoint) => {
      const twice = [0, 1].map(() => ({ ...target(), upstreamModel: 'blocked' }));
      const breaker = {
        consecutiveFailures: 1,
        openForMs: 60_000,
        maxOpenMs: 60_000,
        rateLimitCooldownMs: 0,
      };
      const targets = twice.map((each) => ({ ...each, providerEntry: { ...each.providerEntry, breaker } }));
      const rig = await startRig(tableOf(targets));
      try {
        const before = azure.calls.length;
        for (const asked of [1, 2]) {
          const seen = await ask(rig, { endpoint });
          expect([seen.status, azure.calls.length - before]).toEqual([400, asked]);
          expect(seen.text).toContain('triggering a content management policy');
        }
      } finally {
        await rig.close();
      }
    },
  );

  test.each([false, true])('of an answer is its end, as a stream: %s', async (isStream) => {
    const filtered = { ...target(), upstreamModel: 'filtered', dialects: ['openai-chat' as const] };
    const ends = {
      chat: '"finish_reason":"content_filter"',
      responses: '"reason":"content_filter"',
      messages: '"stop_reason":"refusal"',
    };
    for (const endpoint of ['chat', 'responses', 'messages'] as const) {
      const { seen, paths, records } = await callsOf([filtered, target()], endpoint, isStream);
      expect([seen.status, paths.length]).toEqual([200, 1]);
      expect(seen.text).toContain(ends[endpoint]);
      expect(records.map(({ outcome }) => outcome)).toEqual(['answered']);
    }
  });
});

describe('a refusal of Azure', () => {
  test('of the key is an error of the platform, and quotes no key', async () => {
    const { seen } = await callsOf([{ ...target(), keys: { main: `${key}x` } }], 'chat');
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_auth_failed']);
    expect(seen.text).not.toContain(key);
  });

  test('of a missing deployment lets the next target take over', async () => {
    const missing = { ...target(), upstreamModel: 'just-created' };
    const { seen, records } = await callsOf([missing, target()], 'chat');
    expect(seen.status).toBe(200);
    expect(records.map(({ outcome }) => outcome)).toEqual(['failed', 'answered']);
  });
});
