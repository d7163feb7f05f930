// How are the clouds reached from the stage of the SDKs? Four strict fronts before the same simulator; each surface of a cloud is an upstream.

import type { ProviderEntry, UpstreamDialectName } from '../../core/contract/routing-table.ts';
import { type SeatRows, seatRows } from '../../gateway/upstream/seats.ts';
import { vertexSeats } from '../../gateway/upstream/vertex-ai/index.ts';
import { startAzure } from '../../simulator/clouds/azure.ts';
import { startBedrock } from '../../simulator/clouds/bedrock.ts';
import { startGemini } from '../../simulator/clouds/gemini.ts';
import { startGoogleTokens } from '../../simulator/clouds/google-tokens.ts';
import { startVertex } from '../../simulator/clouds/vertex.ts';
import type { Call, Ledger } from '../../simulator/counts.ts';
import { type Directives, parseDirectives } from '../../simulator/directives.ts';
import type { RigTarget } from '../gateway/rig.ts';
import { messagesFactsOf } from '../support/messages-facts.ts';

interface Surface {
  readonly cloud: 'azure' | 'bedrock' | 'vertex' | 'gemini';
  readonly dialect: UpstreamDialectName;
  /** The cloud's id of the plain model, and of one that fails. */
  readonly idOf: (failure: string | undefined) => string;
  /** Where the simulator sees its calls; absent: a front's own models answer. */
  readonly endpoint?: string;
}

const [chat, responses, messages] = ['/v1/chat/completions', '/v1/responses', '/v1/messages'];
const dashed = (failure: string | undefined): string => (failure === undefined ? '' : `-${failure}`);

export const surfaces = {
  'azure-chat': {
    cloud: 'azure',
    dialect: 'openai-chat',
    idOf: (failure) => `my.gpt_chat${dashed(failure)}`,
    endpoint: chat,
  },
  'azure-responses': {
    cloud: 'azure',
    dialect: 'openai-responses',
    idOf: (failure) => `my.gpt_responses${dashed(failure)}`,
    endpoint: responses,
  },
  'azure-claude': {
    cloud: 'azure',
    dialect: 'anthropic-messages',
    idOf: (failure) => `claude-sonnet-5${dashed(failure)}`,
    endpoint: messages,
  },
  'bedrock-chat': {
    cloud: 'bedrock',
    dialect: 'openai-chat',
    idOf: (failure) => `openai.gpt-oss-120b${dashed(failure)}-1:0`,
    endpoint: chat,
  },
  'bedrock-responses': {
    cloud: 'bedrock',
    dialect: 'openai-responses',
    idOf: (failure) => `us.openai.gpt-5.6-sol${dashed(failure)}`,
    endpoint: responses,
  },
  'bedrock-claude': {
    cloud: 'bedrock',
    dialect: 'anthropic-messages',
    idOf: (failure) => `eu.anthropic.claude-sonnet-4-6${dashed(failure)}`,
    endpoint: messages,
  },
  'bedrock-converse': {
    cloud: 'bedrock',
    dialect: 'bedrock-converse',
    idOf: (failure) => `us.anthropic.claude-sonnet-4-5${dashed(failure)}-v1:0`,
    endpoint: messages,
  },
  'vertex-gemini': {
    cloud: 'vertex',
    dialect: 'google-generate-content',
    idOf: (failure) => `gemini-3.1-pro-preview${dashed(failure)}`,
  },
  'vertex-claude': {
    cloud: 'vertex',
    dialect: 'anthropic-messages',
    idOf: (failure) => `claude-sonnet-4-5${dashed(failure)}@20250929`,
    endpoint: messages,
  },
  'vertex-openapi': {
    cloud: 'vertex',
    dialect: 'openai-chat',
    idOf: (failure) => `meta/llama-4-maverick-17b-128e-instruct-maas${dashed(failure)}`,
    endpoint: chat,
  },
  gemini: {
    cloud: 'gemini',
    dialect: 'google-generate-content',
    idOf: (failure) => `gemini-3.8-flash${dashed(failure)}`,
  },
} as const satisfies Record<string, Surface>;

export type CloudUpstream = keyof typeof surfaces;

export const cloudUpstreams = Object.keys(surfaces) as CloudUpstream[];

export const isCloud = (upstream: string): upstream is CloudUpstream => Object.hasOwn(surfaces, upstream);

/** The front whose own models serve it; undefined: the simulator does. */
export const servedByFront = (upstream: CloudUpstream): boolean => !('endpoint' in surfaces[upstream]);

const keys = {
  azure: 'azure-key-of-the-resource-0123456789',
  bedrock: 'bedrock-api-key-of-the-account-0123456789',
  gemini: 'AIza-key-of-the-project-0123456789',
} as const;
const place = { project: 'my-project', location: 'europe-west4' };

export interface CloudFronts {
  /** With the token service of this stage. */
  readonly seats: SeatRows;
  /** Where a surface is, and how it is signed in to. */
  target(upstream: CloudUpstream, failure?: string): RigTarget;
  /** Directives of models that a front serves itself; null for none. */
  direct(upstream: CloudUpstream, directives: string | null): void;
  /** Where the simulator sees its calls. */
  endpointOf(upstream: CloudUpstream): string | undefined;
  /** Calls of one model that a front serves itself, oldest first. */
  callsOf(upstream: CloudUpstream): readonly Call[];
  /** Waits for the end of such a call. */
  nextCall(upstream: CloudUpstream, fits: (call: Call) => boolean): Promise<Call>;
  close(): Promise<void>;
}

/**
 * @param urlOf Base URL of the simulator behind a cloud, without `/v1`.
 * @param modelOf The simulator's model, with its directives, behind a surface.
 * @param ways Of all models.
 * @param through Base URL to ask in place of the front's own, as of a recorder.
 */
export async function startClouds(
  urlOf: (cloud: Surface['cloud']) => string,
  modelOf: (upstream: CloudUpstream, failure?: string) => string,
  ways: readonly string[],
  through: (cloud: Surface['cloud'], url: string) => Promise<string> | string = (_, url) => url,
): Promise<CloudFronts> {
  const modelsOf = (cloud: Surface['cloud']): Record<string, string> =>
    Object.fromEntries(
      cloudUpstreams
        .filter((each) => surfaces[each].cloud === cloud)
        .flatMap((each) =>
          [undefined, ...ways].map((way) => [surfaces[each].idOf(way), modelOf(each, way)] as const),
        ),
    );
  const azure = await startAzure({
    key: keys.azure,
    deployments: modelsOf('azure'),
    upstream: urlOf('azure'),
  });
  const bedrock = await startBedrock({
    key: keys.bedrock,
    models: modelsOf('bedrock'),
    upstream: urlOf('bedrock'),
  });
  const tokens = await startGoogleTokens();
  const { client_email, private_key, private_key_id } = tokens.key;
  const account = JSON.stringify({ client_email, private_key, private_key_id });
  const secrets = { ...keys, vertex: Buffer.from(account).toString('base64') };
  const takes = (token: string): boolean => tokens.takes(token);
  const vertex = await startVertex({
    ...place,
    takes,
    upstream: urlOf('vertex'),
    models: modelsOf('vertex'),
  });
  const gemini = await startGemini({ key: keys.gemini, models: modelsOf('gemini') });
  const urls = {
    azure: await through('azure', azure.url),
    bedrock: await through('bedrock', bedrock.url),
    vertex: await through('vertex', vertex.url),
    gemini: await through('gemini', gemini.url),
  };
  const served: Partial<Record<CloudUpstream, { directives: Directives; ledger: Ledger }>> = {
    'vertex-gemini': vertex,
    gemini,
  };
  return {
    seats: new Map([...seatRows, ['VertexAI', vertexSeats(tokens.services)]]),
    target(upstream, failure) {
      const { cloud, dialect, idOf } = surfaces[upstream];
      return {
        baseUrl: urls[cloud],
        upstreamModel: idOf(failure),
        dialects: [dialect],
        keys: { main: secrets[cloud] },
        providerEntry: { dialects: [dialect], ...signIn[cloud] },
      };
    },
    direct(upstream, directives) {
      const front = served[upstream];
      if (front) front.directives = directives === null ? {} : parseDirectives(directives);
    },
    endpointOf(upstream) {
      const surface: Surface = surfaces[upstream];
      return surface.endpoint;
    },
    callsOf(upstream) {
      const calls = served[upstream]?.ledger.calls() ?? [];
      return calls.filter(({ endpoint }) => !endpoint.endsWith(':countTokens'));
    },
    nextCall(upstream, fits) {
      const front = served[upstream];
      return front ? front.ledger.nextCall(fits) : Promise.reject(new Error('the simulator serves it'));
    },
    async close() {
      for (const front of [azure, bedrock, vertex, gemini, tokens]) await front[Symbol.asyncDispose]();
    },
  };
}

const signIn: Readonly<Record<Surface['cloud'], Partial<ProviderEntry>>> = {
  azure: { type: 'AzureOpenAI', auth: { header: 'api-key', prefix: '' } },
  bedrock: {
    type: 'Bedrock',
    auth: { header: 'Authorization', prefix: 'Bearer ' },
    ...messagesFactsOf('Bedrock'),
  },
  vertex: {
    type: 'VertexAI',
    auth: { header: 'Authorization', prefix: 'Bearer ' },
    settings: place,
    ...messagesFactsOf('VertexAI'),
  },
  gemini: { type: 'Gemini', auth: { header: 'x-goog-api-key', prefix: '' } },
};
