// Which dialects does a model at Vertex AI speak? Claude by its name, models of other vendors with the vendor in front, all others as Gemini.

import type { UpstreamApi } from './dialects.ts';

/** Undefined: the name does not say. */
export function vertexApisOf(upstreamModel: string): readonly UpstreamApi[] | undefined {
  const id = upstreamModel.replace(/^publishers\/[^/]+\/models\//, '');
  if (id.startsWith('claude-')) return ['Messages'];
  if (/^(google\/)?gemini-|^endpoints\//.test(id)) return ['GenerateContent'];
  return id.includes('/') ? ['ChatCompletions'] : undefined;
}
