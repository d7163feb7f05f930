// What does a model take through Converse? Read off its id, behind any geography or ARN; one whose id does not say its maker gets what all take.

import { type ModelTraits, traitsOf } from '../anthropic/model-traits.ts';

export interface ConverseTraits extends ModelTraits {
  /** What its own request fields are called by. */
  readonly maker: 'claude' | 'nova' | 'nova-2' | 'gpt-oss' | 'other';
  readonly takesCachePoints: boolean;
  /** Takes a status in a tool result, to say that the tool failed. */
  readonly takesErrorStatus: boolean;
}

export function converseTraitsOf(model: string): ConverseTraits {
  const maker = makers.find(([, pattern]) => pattern.test(model))?.[0] ?? 'other';
  const isClaude = maker === 'claude';
  const isNova = maker === 'nova' || maker === 'nova-2';
  const traits = traitsOf(isClaude ? model : '');
  return {
    ...traits,
    maker,
    // By a tool: which models are held to a schema is published for some of them only.
    takesSchemas: false,
    takesForcedCalls: isClaude ? traits.takesForcedCalls : isNova || /mistral\./.test(model),
    takesLaterSystem: false,
    takesPrefill: isClaude ? traits.takesPrefill : isNova,
    takesCachePoints: isNova || (isClaude && cachingClaude.test(model)),
    takesErrorStatus: isClaude || isNova,
  };
}

const makers: readonly (readonly [ConverseTraits['maker'], RegExp])[] = [
  ['claude', /(?:^|[./])anthropic\.claude/],
  ['nova-2', /(?:^|[./])amazon\.nova-2/],
  ['nova', /(?:^|[./])amazon\.nova/],
  ['gpt-oss', /(?:^|[./])openai\.gpt-oss/],
];

/** From the later 3.5 models on. */
const cachingClaude = /claude-(?:3-5-haiku|3-5-sonnet-20241022|3-7|(?!v\d|instant)[a-z])/;
