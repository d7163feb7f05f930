// Which provider types, dialects and limits may be chosen? Generated from core/catalog by `npm run generate`; do not edit.

export const PROVIDER_TYPES = {
  OpenAICompatible: { label: 'OpenAI-compatible server', needsUrl: true, needsApis: true, needsKey: false },
  Ollama: { label: 'Ollama', needsUrl: true, needsApis: false, needsKey: false },
  OpenAI: { label: 'OpenAI', needsUrl: false, needsApis: false, needsKey: true },
  Anthropic: { label: 'Anthropic', needsUrl: false, needsApis: false, needsKey: true },
  AzureOpenAI: { label: 'Azure OpenAI', needsUrl: true, needsApis: false, needsKey: true },
  Bedrock: { label: 'AWS Bedrock', needsUrl: true, needsApis: false, needsKey: true },
  Gemini: { label: 'Gemini API', needsUrl: false, needsApis: false, needsKey: true },
  VertexAI: { label: 'Vertex AI', needsUrl: false, needsApis: false, needsKey: true },
  OpenRouter: { label: 'OpenRouter', needsUrl: false, needsApis: false, needsKey: true },
  Mistral: { label: 'Mistral', needsUrl: false, needsApis: false, needsKey: true },
} as const;
export type ProviderType = keyof typeof PROVIDER_TYPES;

/** Keys of `options`, of the types that have some. */
export const PROVIDER_OPTIONS: { readonly [Type in ProviderType]?: readonly string[] } = {
  OpenAI: ['organization', 'project'],
  AzureOpenAI: ['apiVersion'],
  Bedrock: ['region'],
  VertexAI: ['project', 'location'],
};

export interface SignIn {
  /** `auth.type`, and the member of `auth` with its fields. */
  readonly cloud: string;
  readonly member: string;
  readonly fields: readonly string[];
  /** Of fields that have few values. */
  readonly choices: { readonly [Field in string]?: readonly string[] };
  /** The content of a Secret; without one, the workload identity of the gateway signs in. */
  readonly credentials: string;
  readonly requiredWithKeys: readonly string[];
}
const CLOUDS = {
  AWS: {
    cloud: 'AWS',
    member: 'aws',
    fields: ['roleARN', 'externalID', 'sessionTags'],
    choices: { sessionTags: ['Namespace', 'ApiKey'] },
    credentials: 'AWS credentials file with one profile',
    requiredWithKeys: [],
  },
  GCP: {
    cloud: 'GCP',
    member: 'gcp',
    fields: ['serviceAccount'],
    choices: {},
    credentials: 'JSON key of a service account',
    requiredWithKeys: [],
  },
  Azure: {
    cloud: 'Azure',
    member: 'azure',
    fields: ['tenantID', 'clientID', 'scope'],
    choices: {},
    credentials: 'Client secret, or certificate and private key in PEM',
    requiredWithKeys: ['tenantID', 'clientID'],
  },
} satisfies Readonly<Record<string, SignIn>>;
/** Of the types that take identities of a cloud. */
export const SIGN_INS: { readonly [Type in ProviderType]?: SignIn } = {
  AzureOpenAI: CLOUDS.Azure,
  Bedrock: CLOUDS.AWS,
  Gemini: CLOUDS.GCP,
  VertexAI: CLOUDS.GCP,
};

export const APIS = {
  ChatCompletions: 'Chat completions',
  Messages: 'Messages',
  Responses: 'Responses',
  Completions: 'Completions',
} as const;
export type Api = keyof typeof APIS;

export const DIALECTS = {
  chat: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
  completions: 'Completions',
} as const;
export type DialectName = keyof typeof DIALECTS;

export const LIMITS = {
  requestsPerMinute: { label: 'Requests per minute', unit: 'req/min', max: 100_000_000 },
  tokensPerMinute: { label: 'Tokens per minute', unit: 'tok/min', max: 1_000_000_000_000 },
  maxConcurrentRequests: { label: 'Requests at once', unit: 'at once', max: 1_000_000 },
} as const;
export type LimitMember = keyof typeof LIMITS;
export const limitMembers = Object.keys(LIMITS) as readonly LimitMember[];

/** As plans name them. */
export const RATES = [
  { name: 'requests', label: 'Requests per minute', window: 'perMinute' },
  { name: 'tokens', label: 'Tokens per minute', window: 'perMinute' },
] as const;
