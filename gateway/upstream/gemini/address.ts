// Where does the Gemini API serve a model? At a path with the model's name, and at another one for streams.
// https://ai.google.dev/api/generate-content

import type { AddressFor, UpstreamAsk } from '../address.ts';

/** The base URL is the version, with or without the suffix of the OpenAI form: `/v1beta`, `/v1beta/openai`. */
export const geminiAddress: AddressFor = ({ host, basePath }, ask) => {
  const root = basePath.replace(/\/(openai|models)$/, '');
  if (ask.dialect !== 'google-generate-content')
    return { host, path: `${root}/openai${ask.path}`, query: ask.query };
  return { host, path: `${root}/${modelPath(ask.model)}:${verbOf(ask)}`, query: streamQuery(ask) };
};

/** Without `alt=sse`, a stream is one list. */
function streamQuery({ isStream }: UpstreamAsk): string {
  return isStream ? '?alt=sse' : '';
}

function verbOf({ isStream, operation }: UpstreamAsk): string {
  if (operation === 'count-tokens') return 'countTokens';
  return isStream ? 'streamGenerateContent' : 'generateContent';
}

/** People write the name with and without what Google's own lists put before it. */
export function modelPath(model: string): string {
  const [, kind = 'models', name = model] = /^(models|tunedModels)\/(.+)$/.exec(model) ?? [];
  return `${kind}/${encodeURIComponent(name)}`;
}
