// Where does Bedrock serve a model? Its runtime has a path for each dialect; the hosts named mantle have paths of their own.
// https://docs.aws.amazon.com/bedrock/latest/userguide/inference.html

import { isMantle } from '../../../core/catalog/bedrock-models.ts';
import type { AddressFor, UpstreamAsk } from '../address.ts';

/**
 * The base URL may be the host alone, or end in any of the suffixes that the pages of AWS show.
 *
 * | Dialect | Runtime | Mantle |
 * | --- | --- | --- |
 * | chat completions, responses | `/openai/v1/…` | `/v1/…`, and `/openai/v1/…` for the models of some vendors |
 * | messages | `/anthropic/v1/messages` | the same |
 * | Converse | `/model/{model}/converse` or `/converse-stream` | – |
 */
export const bedrockAddress: AddressFor = ({ host, basePath }, ask) => {
  const root = basePath.replace(/\/(openai(\/v1)?|anthropic(\/v1)?|v1|model)$/, '');
  return { host, path: root + pathOf(host, ask), query: ask.query };
};

function pathOf(host: string, { dialect, model, path, isStream }: UpstreamAsk): string {
  // Also the slashes of an ARN: an id is one segment.
  if (dialect === 'bedrock-converse')
    return `/model/${encodeURIComponent(model)}/converse${isStream ? '-stream' : ''}`;
  if (dialect === 'anthropic-messages') return `/anthropic/v1${path}`;
  const isPlain = isMantle(host) && !hasVendorPath.test(model);
  return `${isPlain ? '' : '/openai'}/v1${path}`;
}

/** A wrong path is answered with "model … isn't supported on this route". */
const hasVendorPath = /^(openai\.gpt-(?!oss)|google\.gemma-4|xai\.)/;
