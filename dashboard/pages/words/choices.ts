// Which provider types and dialects may be chosen? Generated from core/catalog by `npm run generate`; do not edit.

export const PROVIDER_TYPES = {
  OpenAICompatible: { label: 'OpenAI-compatible server', needsUrl: true, needsApis: true, needsKey: false },
  Ollama: { label: 'Ollama', needsUrl: true, needsApis: false, needsKey: false },
  OpenAI: { label: 'OpenAI', needsUrl: false, needsApis: false, needsKey: true },
  Anthropic: { label: 'Anthropic', needsUrl: false, needsApis: false, needsKey: true },
  OpenRouter: { label: 'OpenRouter', needsUrl: false, needsApis: false, needsKey: true },
  Mistral: { label: 'Mistral', needsUrl: false, needsApis: false, needsKey: true },
} as const;
export type ProviderType = keyof typeof PROVIDER_TYPES;

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
