// A filter or guardrail of a cloud blocks what Claude or a model of Converse says. Do callers get the refusal of their dialect, and does the
// model stay in service for all others? Over the wire of each cloud's simulator; those of Gemini are in gemini.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UpstreamDialectName } from '../../../core/contract/routing-table.ts';
import { type SeatRows, seatRows } from '../../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../../gateway/upstream/vertex-ai/index.ts';
import { startAzure } from '../../../simulator/clouds/azure.ts';
import { startBedrock } from '../../../simulator/clouds/bedrock.ts';
import { startGoogleTokens } from '../../../simulator/clouds/google-tokens.ts';
import { startVertex } from '../../../simulator/clouds/vertex.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { ask } from '../../flow/ask.ts';
import { type RigTarget, startRig, tableOf } from '../rig.ts';

const key = 'key-of-the-account-0123456789';
const guarded = 'us.amazon.nova-guarded-v1:0';
const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const settings = { project: 'my-project', location: 'europe-west4' };
const started = new AsyncDisposableStack();
let account: string;
let seats: SeatRows;
const urls = { bedrock: '', azure: '', vertex: '' };

beforeAll(async () => {
  const simulator = started.adopt(await startSimulator(), (one) => one.close());
  const upstream = simulator.url;
  const models = { [guarded]: 'sim+filter', [claude]: 'sim+filter' };
  urls.bedrock = started.use(await startBedrock({ key, models, upstream })).url;
  urls.azure = started.use(await startAzure({ key, deployments: { claude: 'sim+filter' }, upstream })).url;
  const ofVertex = { 'claude-opus-5': 'sim+filter' };
  const tokens = started.use(await startGoogleTokens());
  const { client_email, private_key, private_key_id } = tokens.key;
  account = Buffer.from(JSON.stringify({ client_email, private_key, private_key_id })).toString('base64');
  seats = new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)]]);
  const takes = (token: string) => tokens.takes(token);
  const vertex = { ...settings, takes, upstream, models: ofVertex };
  urls.vertex = started.use(await startVertex(vertex)).url;
});
afterAll(() => started.disposeAsync());

interface Place {
  readonly cloud: keyof typeof urls;
  readonly type: string;
  readonly upstreamModel: string;
  readonly dialect: UpstreamDialectName;
  readonly header: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

const places: Readonly<Record<string, Place>> = {
  'Bedrock, a filter of Converse': {
    cloud: 'bedrock',
    type: 'Bedrock',
    upstreamModel: guarded,
    dialect: 'bedrock-converse',
    header: 'Authorization',
  },
  'Bedrock, a guardrail of Converse': {
    cloud: 'bedrock',
    type: 'Bedrock',
    upstreamModel: guarded,
    dialect: 'bedrock-converse',
    header: 'Authorization',
    parameters: { guardrailConfig: { guardrailIdentifier: 'abc123', guardrailVersion: '1' } },
  },
  'Bedrock, messages': {
    cloud: 'bedrock',
    type: 'Bedrock',
    upstreamModel: claude,
    dialect: 'anthropic-messages',
    header: 'Authorization',
  },
  'Foundry, Claude': {
    cloud: 'azure',
    type: 'AzureOpenAI',
    upstreamModel: 'claude',
    dialect: 'anthropic-messages',
    header: 'api-key',
  },
  'Vertex AI, Claude': {
    cloud: 'vertex',
    type: 'VertexAI',
    upstreamModel: 'claude-opus-5',
    dialect: 'anthropic-messages',
    header: 'Authorization',
  },
};

function targetAt({ cloud, type, upstreamModel, dialect, header, parameters = {} }: Place): RigTarget {
  const prefix = header === 'Authorization' ? 'Bearer ' : '';
  return {
    baseUrl: urls[cloud],
    upstreamModel,
    dialects: [dialect],
    parameters,
    keys: { main: type === 'VertexAI' ? account : key },
    providerEntry: {
      type,
      dialects: [dialect],
      auth: { header, prefix },
      ...(type === 'VertexAI' ? { settings } : {}),
    },
  };
}

const ends = {
  chat: '"finish_reason":"content_filter"',
  // Codex would ask again where it reads that an answer is incomplete.
  responses: '"status":"completed"',
  messages: '"stop_reason":"refusal"',
};

describe.each(Object.keys(places))('%s', (name) => {
  test.each([false, true])(
    'an answer that is blocked is the refusal of the dialect, as a stream: %s, and no target takes over',
    async (isStream) => {
      const target = targetAt(places[name] as Place);
      const rig = await startRig(tableOf([target, { ...target, name: 'spare' }]), { seats });
      try {
        const kinds = ['chat', 'responses', 'messages'] as const;
        // More often than the breaker lets a model fail: it is in service to the last.
        const asked = [...kinds, ...kinds, ...kinds];
        for (const endpoint of asked) {
          const { status, text } = await ask(rig, { endpoint, isStream });
          expect([endpoint, status]).toEqual([endpoint, 200]);
          expect(text).toContain(ends[endpoint]);
        }
        expect(rig.records.map(({ target: of, outcome }) => `${of} ${outcome}`)).toEqual(
          asked.map(() => 't0 answered'),
        );
      } finally {
        await rig.close();
      }
    },
  );
});
