// Where does Azure serve a deployment? At the v1 paths, which take no date; or, with a dated API version, at the path of the deployment.
// https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle

import type { AddressFor, UpstreamAsk } from '../address.ts';

/**
 * The base URL may be the resource alone, or end in any of the suffixes that Azure's own pages show.
 *
 * | Dialect | Without `apiVersion`, or `preview` | With a date |
 * | --- | --- | --- |
 * | chat completions, completions | `/openai/v1/…` | `/openai/deployments/{model}/…` |
 * | responses | `/openai/v1/responses` | `/openai/responses` |
 * | messages (Claude in Foundry) | `/anthropic/v1/messages` | the same |
 */
export const azureAddress: AddressFor = ({ host, basePath, entry }, ask) => {
  const root = basePath.replace(/\/(openai(\/v1|\/deployments\/[^/]+)?|anthropic(\/v1)?)$/, '');
  const { path, query } = openAiOrMessages(ask, entry.settings?.apiVersion);
  return { host, path: root + path, query };
};

function openAiOrMessages(
  { dialect, model, path, query }: UpstreamAsk,
  version: string | undefined,
): { path: string; query: string } {
  if (dialect === 'anthropic-messages') return { path: `/anthropic/v1${path}`, query };
  const isDated = version !== undefined && version !== 'preview';
  const named = version === undefined ? '' : `?api-version=${version}`;
  if (!isDated) return { path: `/openai/v1${path}`, query: named };
  if (dialect === 'openai-responses') return { path: `/openai${path}`, query: named };
  return { path: `/openai/deployments/${encodeURIComponent(model)}${path}`, query: named };
}
