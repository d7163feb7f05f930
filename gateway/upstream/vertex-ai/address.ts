// Where does Vertex AI serve a model? Below the project and its location, at the publisher of the model; without a project in express mode.
// https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest

import { locationOfVertex } from '../../../core/catalog/vertex-models.ts';
import type { Address, AddressFor, UpstreamAsk } from '../address.ts';

/**
 * | Dialect | Path |
 * | --- | --- |
 * | generateContent | `…/publishers/google/models/{model}:generateContent`, tuned `…/endpoints/{id}:…` |
 * | messages | `…/publishers/anthropic/models/{model}:rawPredict` |
 * | chat completions | `…/endpoints/openapi/chat/completions` |
 */
export const vertexAddress: AddressFor = ({ host, basePath, entry }, ask) => {
  const { project, location = locationOfVertex(host) } = entry.settings ?? {};
  const root = /\/v1(beta1)?$/.test(basePath) ? basePath : `${basePath}/v1`;
  const place = project === undefined ? '' : `/projects/${project}/locations/${location}`;
  return { host, ...below(root + place, ask) };
};

function below(parent: string, ask: UpstreamAsk): Pick<Address, 'path' | 'query'> {
  const { dialect, isStream, operation } = ask;
  const model = nameOf(ask.model);
  switch (dialect) {
    case 'google-generate-content': {
      const generates = isStream ? 'streamGenerateContent' : 'generateContent';
      const verb = operation === 'count-tokens' ? 'countTokens' : generates;
      const place = model.startsWith('endpoints/') ? model : `publishers/google/models/${inPath(model)}`;
      return { path: `${parent}/${place}:${verb}`, query: isStream ? '?alt=sse' : '' };
    }
    case 'anthropic-messages': {
      const verb = isStream ? 'streamRawPredict' : 'rawPredict';
      const place = operation === 'count-tokens' ? 'count-tokens' : inPath(model);
      return { path: `${parent}/publishers/anthropic/models/${place}:${verb}`, query: '' };
    }
    default:
      return { path: `${parent}/endpoints/openapi${ask.path}`, query: '' };
  }
}

/** Without what Google's own lists and its OpenAI form put before the name. */
function nameOf(model: string): string {
  return model.replace(/^(publishers\/[^/]+\/models\/|models\/|google\/(?=gemini-))/, '');
}

/** Versions follow an `@`, which stays. */
function inPath(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@');
}
