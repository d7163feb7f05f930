// What is known of a provider by its type alone? One row each, and nothing else lists types: its names, its address, its dialects, how it takes
// a key.

import { bedrockApisOf, bedrockListNames } from './bedrock-models.ts';
import type { CloudName } from './clouds.ts';
import type { UpstreamApi } from './dialects.ts';
import type { CallPlace, ListNames } from './list-names.ts';
import { vertexApisOf, vertexListNames } from './vertex-models.ts';

/** A member that only one vendor has, in no dialect. */
interface Quirk<Value> {
  readonly value: Value;
  /** A public thread that has it, or the vendor's own page. */
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

/** A key of `options` that changes the way upstream. */
interface Setting {
  readonly pattern: RegExp;
  /** The form of a value, after "must be ". */
  readonly text: string;
}

interface ProviderTypeFacts {
  /** Label of a choice. */
  readonly title: string;
  /** Where the provider is unless `baseURL` says otherwise; absent: `baseURL` is required. */
  readonly baseUrl?: string;
  /** Dialects that it speaks unless `apis` says otherwise; absent: `apis` is required. */
  readonly apis?: readonly UpstreamApi[];
  /**
   * The dialects of one model, by the upstream's name for it and the place of the call, where not every model speaks all of `apis`; undefined:
   * the name does not say.
   * `apis` of the Provider and `api` of the target come first.
   */
  readonly apisOf?: (upstreamModel: string, place: CallPlace) => readonly UpstreamApi[] | undefined;
  /** People run it themselves: it may take no key, and a key may go to it over plain http. */
  readonly isSelfHosted?: true;
  /** How it takes its key unless `auth.header` says otherwise. */
  readonly header: { readonly name: string; readonly prefix: string };
  /** The `auth.type` by which it takes credentials that are no key in a header. */
  readonly signIn?: CloudName;
  /** The format of the table from which gateways know `signIn`; absent: all that know the type do. */
  readonly signInFormat?: 4;
  /** Keys of `options` it knows, and the request header each becomes. */
  readonly options: Readonly<Record<string, string>>;
  /** Further keys of `options`, read by its row of gateway/upstream/seats.ts. */
  readonly settings?: Readonly<Record<string, Setting>>;
  /**
   * By which names it knows the output limit and the end user in chat completions: OpenAI's `current` ones, or the older ones alone, that are `common` to
   * all; absent: some that are of this type know the current ones, and some do not.
   */
  readonly chatNames?: Quirk<'current' | 'common'>;
  /** Refuses a chat with a user's message right after a tool's. */
  readonly chatOrder?: Quirk<'strict'>;
  /** Takes images and files in messages as base64 alone, and fetches no URL. */
  readonly messagesSources?: Quirk<'base64'>;
  /** Refuses the schema of an answer in messages: a tool that the model has to call takes its place. */
  readonly messagesSchemas?: Quirk<'by-tool'>;
  /**
   * Requests travel to it by a row of gateway/upstream/seats.ts. The operator knows the plain way only, with the key in a header, and makes
   * no active check of it.
   */
  readonly hasOwnSeats?: true;
  /** Members of a request by which a caller would have another model than the target's. */
  readonly modelMembers?: Quirk<readonly string[]>;
  /** What the price catalog calls the vendor at `baseUrl`; absent: its models have no list price. */
  readonly priceVendor?: string;
  /** The same of one model, where it depends on the place of the call or the spelling of the model. Comes before `priceVendor`. */
  readonly listNames?: (upstreamModel: string, place: CallPlace) => ListNames;
  /** `owned_by` of platform models that it serves. */
  readonly ownedBy: string;
  /** `gen_ai.provider.name` of the OpenTelemetry conventions; if they define none, one of our own. */
  readonly telemetryName: string;
}

const github = 'https://github.com';
const BEARER = { name: 'Authorization', prefix: 'Bearer ' };

// In the order of the CRD. A dialect is a default only where every model of the type takes it; `apis` can say otherwise. Completions takes raw
// prompts, which few models do: elsewhere a completions call is served through chat.
const rows = {
  OpenAI: {
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    // Responses as well as chat: only Responses keeps reasoning from turn to turn and has the features newer than chat.
    apis: ['ChatCompletions', 'Responses'],
    header: BEARER,
    options: { organization: 'OpenAI-Organization', project: 'OpenAI-Project' },
    chatNames: {
      value: 'current',
      source: `${github}/ITSpecialist111/ai_automation_suggester/issues/38`,
      seen: '2024-11',
    },
    priceVendor: 'openai',
    ownedBy: 'openai',
    telemetryName: 'openai',
  },
  Anthropic: {
    title: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    apis: ['Messages'],
    header: { name: 'x-api-key', prefix: '' },
    options: {},
    // The matching beta header has no effect without this member, and callers may need the header for earlier turns.
    modelMembers: {
      value: ['fallbacks'],
      source: `${github}/dust-tt/dust/pull/26813`,
      seen: '2026-06',
    },
    priceVendor: 'anthropic',
    ownedBy: 'anthropic',
    telemetryName: 'anthropic',
  },
  OpenAICompatible: {
    title: 'OpenAI-compatible server',
    isSelfHosted: true,
    header: BEARER,
    options: {},
    ownedBy: 'openai-compatible',
    telemetryName: 'openai_compatible',
  },
  // Models are deployments of a resource of the customer's own, so the type has no address.
  AzureOpenAI: {
    title: 'Azure OpenAI',
    apis: ['ChatCompletions', 'Responses'],
    header: { name: 'api-key', prefix: '' },
    signIn: 'Azure',
    options: {},
    settings: {
      apiVersion: {
        pattern: /^(\d{4}-\d{2}-\d{2}(-preview)?|preview)$/,
        text: 'preview, or a date such as 2024-10-21 or 2025-04-01-preview',
      },
    },
    hasOwnSeats: true,
    listNames: () => ({ why: 'the name of a deployment does not say its model' }),
    ownedBy: 'azure-openai',
    telemetryName: 'azure.ai.openai',
  },
  // The host has the region of the account, so the type has no address.
  Bedrock: {
    title: 'AWS Bedrock',
    apis: ['ChatCompletions', 'Responses', 'Messages', 'Converse'],
    apisOf: bedrockApisOf,
    header: BEARER,
    signIn: 'AWS',
    options: {},
    settings: {
      region: { pattern: /^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/, text: 'a region such as us-east-1' },
    },
    messagesSources: {
      value: 'base64',
      source: `${github}/pollinations/pollinations/issues/5862`,
      seen: '2025-12',
    },
    hasOwnSeats: true,
    listNames: bedrockListNames,
    ownedBy: 'bedrock',
    telemetryName: 'aws.bedrock',
  },
  Gemini: {
    title: 'Gemini API',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    apis: ['GenerateContent'],
    header: { name: 'x-goog-api-key', prefix: '' },
    signIn: 'GCP',
    signInFormat: 4,
    options: {},
    hasOwnSeats: true,
    priceVendor: 'google',
    ownedBy: 'google',
    telemetryName: 'gcp.gemini',
  },
  VertexAI: {
    title: 'Vertex AI',
    // Of the location `global`; regions have hosts of their own.
    baseUrl: 'https://aiplatform.googleapis.com/v1',
    apis: ['ChatCompletions', 'Messages', 'GenerateContent'],
    apisOf: vertexApisOf,
    header: { name: 'x-goog-api-key', prefix: '' },
    options: {},
    settings: {
      project: {
        pattern: /^[a-z][a-z0-9-]{4,28}[a-z0-9]$|^\d{6,19}$/,
        text: 'the id or number of a project',
      },
      location: { pattern: /^[a-z]+(-[a-z]+\d+)?$/, text: 'global, us, eu or a region such as europe-west4' },
    },
    messagesSources: {
      value: 'base64',
      source: `${github}/pollinations/pollinations/issues/5862`,
      seen: '2025-12',
    },
    // Blocked by an organisation policy, unless the organisation changes it.
    messagesSchemas: {
      value: 'by-tool',
      source: `${github}/anthropics/anthropic-sdk-python/issues/1188`,
      seen: '2026-02',
    },
    signIn: 'GCP',
    hasOwnSeats: true,
    listNames: vertexListNames,
    ownedBy: 'google',
    telemetryName: 'gcp.vertex_ai',
  },
  OpenRouter: {
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    apis: ['ChatCompletions'],
    header: BEARER,
    options: {},
    // Of its plugins `fusion` asks models of the caller's choice, and `auto-router` chooses one; `fallbacks` is what `models` is, in messages.
    modelMembers: {
      value: ['fallbacks', 'models', 'plugins', 'preset', 'route'],
      source:
        'https://openrouter.ai/docs/requests and openrouter.ai/docs/guides/routing/routers/fusion-router',
      seen: '2026-11',
    },
    priceVendor: 'openrouter',
    ownedBy: 'openrouter',
    telemetryName: 'openrouter',
  },
  Mistral: {
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    apis: ['ChatCompletions'],
    header: BEARER,
    options: {},
    chatNames: {
      value: 'common',
      source: `${github}/editor-code-assistant/eca/issues/231`,
      seen: '2025-12',
    },
    chatOrder: {
      value: 'strict',
      source: `${github}/zed-industries/zed/issues/37021`,
      seen: '2025-08',
    },
    priceVendor: 'mistral',
    ownedBy: 'mistral',
    telemetryName: 'mistral_ai',
  },
  Ollama: {
    title: 'Ollama',
    isSelfHosted: true,
    apis: ['ChatCompletions', 'Completions'],
    header: BEARER,
    options: {},
    // The server silently ignores the current name of the limit.
    chatNames: { value: 'common', source: `${github}/ollama/ollama/issues/7125`, seen: '2026-08' },
    ownedBy: 'ollama',
    telemetryName: 'ollama',
  },
} satisfies Record<string, ProviderTypeFacts>;

export type ProviderType = keyof typeof rows;

export const PROVIDER_TYPES: Readonly<Record<ProviderType, ProviderTypeFacts>> = rows;

/** Of all types, or of those that a question is true of; in the order of the rows. */
export function typesThat(isOf: (facts: ProviderTypeFacts) => boolean = () => true): readonly ProviderType[] {
  return Object.keys(rows)
    .filter(isProviderType)
    .filter((type) => isOf(PROVIDER_TYPES[type]));
}

/** Keys that `options` may have. */
export function optionsOf(type: ProviderType): readonly string[] {
  const { options, settings = {} } = PROVIDER_TYPES[type];
  return [...Object.keys(options), ...Object.keys(settings)];
}

export function isProviderType(type: string): type is ProviderType {
  return Object.hasOwn(rows, type);
}
