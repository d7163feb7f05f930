// A cloud refuses a prompt for its content with 400, where its model speaks messages, chat or Converse. Is the refusal relayed once, as the
// caller's own, and does the model stay in service? Of Azure's chat and responses: azure-openai.test.ts; Gemini says so with 200.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type SeatRows, seatRows } from '../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../gateway/upstream/vertex-ai/index.ts';
import { startAzure } from '../../../simulator/clouds/azure.ts';
import { startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { startGoogleTokens } from '../../../simulator/clouds/google-tokens.ts';
import { startVertex } from '../../../simulator/clouds/vertex.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { ask, errorOf } from '../../flow/ask.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';

const key = 'key-of-the-account-0123456789';
const said = 'Output blocked by content filtering policy';
/** As the model itself says it, behind the front of each cloud. */
const blocks = `sim+fault=error-400+message=${encodeURIComponent(said)}`;
const byFront = {
  status: 400,
  type: 'ValidationException',
  message: `${said}. Revise the prompt.`,
};
const settings = { project: 'my-project', location: 'europe-west4' };
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const started = new AsyncDisposableStack();
const urls = { bedrock: '', azure: '', vertex: '' };
let account: string;
let seats: SeatRows;

beforeAll(async () => {
  const simulator = started.adopt(await startSimulator(), (one) => one.close());
  const upstream = simulator.url;
  const ofBedrock = { [claude]: blocks, 'openai.gpt-oss-120b-1:0': blocks, front: byFront };
  urls.bedrock = started.use(await startBedrock({ key, models: ofBedrock, upstream })).url;
  const error = { code: 'content_filter', message: `${said}: triggering a content management policy` };
  const deployments = { claude: blocks, front: { status: 400, error } };
  urls.azure = started.use(await startAzure({ key, deployments, upstream })).url;
  const tokens = started.use(await startGoogleTokens());
  const { client_email, private_key, private_key_id } = tokens.key;
  account = Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString('base64');
  seats = new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)]]);
  const models = { 'claude-opus-5': blocks, 'meta/llama-4-maas': blocks };
  const takes = (token: string) => tokens.takes(token);
  urls.vertex = started.use(await startVertex({ ...settings, takes, upstream, models })).url;
});
afterAll(() => started.disposeAsync());

/** By cloud, model and dialect. */
const places = {
  'Bedrock, Claude in messages': ['bedrock', claude, 'anthropic-messages'],
  'Bedrock, messages by its front': ['bedrock', 'front', 'anthropic-messages'],
  'Bedrock, chat': ['bedrock', 'openai.gpt-oss-120b-1:0', 'openai-chat'],
  'Bedrock, responses': ['bedrock', 'openai.gpt-oss-120b-1:0', 'openai-responses'],
  'Bedrock, Converse by its front': ['bedrock', 'front', 'bedrock-converse'],
  'Foundry, Claude': ['azure', 'claude', 'anthropic-messages'],
  'Foundry, Claude by its front': ['azure', 'front', 'anthropic-messages'],
  'Vertex AI, Claude': ['vertex', 'claude-opus-5', 'anthropic-messages'],
  'Vertex AI, chat': ['vertex', 'meta/llama-4-maas', 'openai-chat'],
} as const;

const signIn = {
  bedrock: { type: 'Bedrock', auth: { header: 'Authorization', prefix: 'Bearer ' } },
  azure: { type: 'AzureOpenAI', auth: { header: 'api-key', prefix: '' } },
  vertex: { type: 'VertexAI', auth: { header: 'Authorization', prefix: 'Bearer ' }, settings },
};

/** One failure would take it out of service. */
const breaker = { consecutiveFailures: 1, openForMs: 60_000, maxOpenMs: 60_000, rateLimitCooldownMs: 0 };

function targetAt([cloud, upstreamModel, dialect]: (typeof places)[keyof typeof places]): RigTarget {
  return {
    baseUrl: urls[cloud],
    upstreamModel,
    dialects: [dialect],
    keys: { main: cloud === 'vertex' ? account : key },
    providerEntry: { dialects: [dialect], breaker, ...signIn[cloud] },
  };
}

describe.each(Object.entries(places))('%s', (_, place) => {
  test.each([false, true])(
    'cloud 16: a blocked prompt is refused once, and does not count against the upstream, as a stream: %s',
    async (isStream) => {
      const target = targetAt(place);
      const rig = await startRig(
        tableOf([target, { ...target, name: 'spare', provider: 'platform/spare' }]),
        {
          seats,
        },
      );
      try {
        for (const endpoint of ['chat', 'responses', 'messages', 'chat'] as const) {
          const seen = await ask(rig, { endpoint, isStream });
          expect([endpoint, seen.status, errorOf(seen) !== undefined]).toEqual([endpoint, 400, true]);
          expect(seen.text).toContain(said);
        }
        // In service to the last, and no spare asked.
        expect(rig.records.map(({ target: of, outcome }) => `${of} ${outcome}`)).toEqual(
          Array.from({ length: 4 }, () => 't0 failed'),
        );
      } finally {
        await rig.close();
      }
    },
  );
});
