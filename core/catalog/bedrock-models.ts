// What does the id of a model at Bedrock say? The vendor is in front, after a geography; of some ARNs the id is the last part.

import { CLOUDS } from './clouds.ts';
import type { UpstreamApi } from './dialects.ts';
import { type CallPlace, CLAUDE_CACHE_HOUR, type ListNames } from './list-names.ts';

const ofModel = /^arn:.*:(foundation-model|inference-profile)\//;
const ofGeography = /^(us|eu|apac|au|jp|in|us-gov|global)\./;

/**
 * At the runtime every model speaks Converse: also one whose name does not say its maker, as that of an application's own profile. The hosts
 * named mantle have no Converse, and chat completions for all but Claude.
 */
export function bedrockApisOf(
  upstreamModel: string,
  { host }: Pick<CallPlace, 'host'>,
): readonly UpstreamApi[] {
  const id = upstreamModel.replace(ofModel, '').replace(ofGeography, '');
  // The third generation has no path for messages.
  if (/^anthropic\.claude-(?!3|v\d|instant)/.test(id)) return ['Messages'];
  if (/^(openai|xai)\./.test(id)) return ['ChatCompletions', 'Responses'];
  return isMantle(host) ? ['ChatCompletions'] : ['Converse'];
}

/**
 * A profile of the geography `global` has its own prices. All others cost the price of the call's region, which the catalog lists as
 * `regional` if it is the same in every region.
 */
export function bedrockListNames(upstreamModel: string, { host, settings }: CallPlace): ListNames {
  if (!CLOUDS.AWS.hosts.test(host)) return { why: 'its Provider is not at a host of AWS' };
  // Calls with an API key go where the host is, whatever the option says.
  const region = regionOfBedrock(host) || (settings.region ?? '');
  const id = upstreamModel.replace(ofModel, '');
  if (/^arn:.*:(provisioned-model|imported-model)\//.test(id)) {
    return { why: 'its ARN is of capacity that is paid by the hour, as pricing {provisioned: true} says' };
  }
  if (id.startsWith('arn:')) return { why: 'its ARN does not say which model it is' };
  if (/^(us-gov|cn|us-iso|eusc)/.test(region)) {
    return { why: `list prices do not count in ${region}, a separate partition` };
  }
  const geography = ofGeography.exec(id)?.[1];
  const model = id.replace(ofGeography, '').replace(version, '');
  const hour = model.startsWith('anthropic.') ? { cacheHourInputs: CLAUDE_CACHE_HOUR } : {};
  const named = (name: string) => ({ vendor: 'aws', model: name, isEntry: true as const, ...hour });
  const place = `in ${region}`;
  if (geography === 'global') return { names: [named(`global.${model}`)], place };
  const everywhere = named(`regional.${model}`);
  return { names: listedRegions.has(region) ? [everywhere, named(model)] : [everywhere], place };
}

/** `-v1:0`, `-v1`, `-1:0`, `:0`: the list has them, and the id of one model may be with or without. */
const version = /(-v\d+(:\d+)?|(-\d+)?:\d+)$/;

/** The regions of the plain prices of https://aws.amazon.com/bedrock/pricing/, read in 2026-11: elsewhere most models cost more. */
const listedRegions: ReadonlySet<string> = new Set(['us-east-1', 'us-east-2', 'us-west-2']);

export function isMantle(host: string): boolean {
  return /(^|\.)bedrock-mantle[.-]/.test(host);
}

/** Also of the host of a VPC endpoint. Empty: it names none. */
export function regionOfBedrock(host: string): string {
  return /bedrock-(?:runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\./.exec(host)?.[1] ?? '';
}
