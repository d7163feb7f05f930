// What can a model do, as its ModelRoute says it? One row each.

import type { Headline } from './capabilities.ts';

interface Row {
  /** The feature that a dialect must carry for it; absent: a dialect without it costs money, not answers. */
  readonly headline?: Headline;
  /** Of chat completions, in the list of models. */
  readonly parameters: readonly string[];
}

// In the order of the CRD.
const rows = {
  Streaming: { headline: 'streaming', parameters: ['stream', 'stream_options'] },
  Tools: { headline: 'tools', parameters: ['tools', 'tool_choice', 'parallel_tool_calls'] },
  Vision: { headline: 'images', parameters: [] },
  PromptCaching: { parameters: ['prompt_cache_key'] },
  Reasoning: { headline: 'reasoning', parameters: ['reasoning_effort'] },
} as const satisfies Record<string, Row>;

export type ModelCapability = keyof typeof rows;

export const MODEL_CAPABILITIES: Readonly<Record<ModelCapability, Row>> = rows;

export const modelCapabilities: readonly ModelCapability[] = Object.keys(rows).filter(isModelCapability);

/** A table of a newer operator may have more. */
export function isModelCapability(name: string): name is ModelCapability {
  return Object.hasOwn(rows, name);
}

/** Of what may be declared; nothing declares structured output, so every model may have it. */
export const declarableHeadlines: ReadonlySet<Headline> = new Set(
  modelCapabilities.flatMap((capability) => MODEL_CAPABILITIES[capability].headline ?? []),
);
