// What does the name of a model at Vertex AI say? Claude is known by it, models of other vendors have the vendor in front, all others are Gemini.

import { CLOUDS } from './clouds.ts';
import type { UpstreamApi } from './dialects.ts';
import { type CallPlace, CLAUDE_CACHE_HOUR, type ListNames } from './list-names.ts';

/** Undefined: the name does not say. */
export function vertexApisOf(upstreamModel: string): readonly UpstreamApi[] | undefined {
  const id = upstreamModel.replace(/^publishers\/[^/]+\/models\//, '');
  if (id.startsWith('claude-')) return ['Messages'];
  if (/^(google\/)?gemini-|^endpoints\//.test(id)) return ['GenerateContent'];
  return id.includes('/') ? ['ChatCompletions'] : undefined;
}

/** The catalog has the prices of the location `global`. */
export function vertexListNames(upstreamModel: string, { host, settings }: CallPlace): ListNames {
  if (!CLOUDS.GCP.hosts.test(host)) return { why: 'its Provider is not at a host of Vertex AI' };
  const location = settings.location ?? locationOfVertex(host);
  const model = upstreamModel.replace(/^(publishers\/[^/]+\/models\/|models\/|google\/)/, '');
  if (model.startsWith('claude-')) {
    const surcharge = location === 'global' || !isDearerInRegions(model) ? {} : { surchargePercent: 10 };
    const more = { model, cacheHourInputs: CLAUDE_CACHE_HOUR, ...surcharge };
    return { names: ['google', 'anthropic'].map((vendor) => ({ vendor, ...more })) };
  }
  if (location === 'global') return { names: [{ vendor: 'google', model }] };
  return { why: `list prices are those of the location global, and its Provider is in ${location}` };
}

/** From 4.5 on: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai, read in 2026-11. */
function isDearerInRegions(claude: string): boolean {
  return !/^claude-(3|[a-z]+-4(-[01]\b|@|-\d{8}|$))/.test(claude);
}

/** `europe-west4-aiplatform.googleapis.com`, `aiplatform.eu.rep.googleapis.com`; all others are the global one. */
export function locationOfVertex(host: string): string {
  const [, region, area] = /^(?:([a-z]+-[a-z]+\d+)-)?aiplatform(?:\.([a-z]+)\.rep)?\./.exec(host) ?? [];
  return region ?? area ?? 'global';
}
