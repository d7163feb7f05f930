// How shall the upstream's model think, and within which limit of tokens?

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Conversation, Turn } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import { effortOf } from '../request/reasoning-effort.ts';
import { fitEffort, type ModelTraits } from './model-traits.ts';
import { nativeBlockOf } from './thinking-blocks.ts';
import { budgetMin, budgetOf } from './thinking-budget.ts';

interface EncodedThinking {
  readonly maxTokens: number;
  /** Undefined: the model's own way. */
  readonly thinking?: Readonly<Record<string, unknown>>;
  readonly effort?: string;
  readonly isThinking: boolean;
}

/** Room for thinking at an effort that has no budget. */
const thinkingTokensMax = 32_768;

/** Output limit if neither the caller nor the route sets one. */
const tokensMaxDefault = 8192;

/** The caller's wish as far as the model and the rest of the request allow it, else the route's. */
export function encodeThinking(
  conversation: Conversation,
  target: UpstreamTarget,
  traits: ModelTraits,
  isAnswerForced: boolean,
): EncodedThinking {
  const limit = limitOf(conversation, target);
  const { maxTokens } = limit;
  const { reasoning } = conversation;
  // The dialect refuses a forced call of a thinking model; that the tool is called can be checked.
  const isCallForced = isAnswerForced || isForced(conversation);
  if (!reasoning) {
    const preset = asRecord(target.parameters.thinking);
    return encodePreset(preset, conversation.turns, isCallForced, limit, target);
  }
  const wanted = effortOf(reasoning, conversation.maxOutputTokens);
  const isOff = wanted === 'none';
  const effort = isOff || wanted === undefined ? undefined : fitEffort(wanted, traits);
  const withEffort = effort === undefined ? {} : { effort };
  const mayThink = !isOff && !isCallForced;
  if (traits.thinks === 'adaptive') {
    const display = reasoning.summary === undefined ? 'omitted' : 'summarized';
    if (!mayThink) return { maxTokens, thinking: { type: 'disabled' }, ...withEffort, isThinking: false };
    const room = budgetOf(effort ?? 'high') ?? thinkingTokensMax;
    const thinking = { type: 'adaptive', display };
    return { maxTokens: withRoom(limit, room, target), thinking, ...withEffort, isThinking: true };
  }
  if (traits.thinks === 'never' || !mayThink || !thoughtInLoop(conversation.turns)) {
    return { maxTokens, isThinking: false };
  }
  return fitBudget(reasoning.budgetTokens ?? budgetOf(wanted ?? 'medium'), limit, target);
}

interface Limit {
  readonly maxTokens: number;
  /** By the caller or the route; then it stays. */
  readonly isSet: boolean;
}

function limitOf({ maxOutputTokens, defaults }: Conversation, target: UpstreamTarget): Limit {
  if (maxOutputTokens !== undefined) return { maxTokens: maxOutputTokens, isSet: true };
  const { max_tokens: preset } = target.parameters;
  if (typeof preset === 'number') return { maxTokens: preset, isSet: true };
  if (defaults) return { maxTokens: defaults.maxOutputTokens, isSet: true };
  return { maxTokens: target.maxOutputTokens ?? tokensMaxDefault, isSet: false };
}

/** The route's own thinking, by the same rules; thinking that may not be sent is switched off explicitly. */
function encodePreset(
  preset: JsonRecord | undefined,
  turns: readonly Turn[],
  isCallForced: boolean,
  limit: Limit,
  target: UpstreamTarget,
): EncodedThinking {
  const { maxTokens } = limit;
  if (preset?.type !== 'adaptive' && preset?.type !== 'enabled') return { maxTokens, isThinking: false };
  const off = { maxTokens, thinking: { type: 'disabled' }, isThinking: false };
  if (isCallForced) return off;
  if (preset.type === 'adaptive') return { maxTokens, isThinking: true };
  const { budget_tokens: wanted } = preset;
  const fitted = thoughtInLoop(turns)
    ? fitBudget(typeof wanted === 'number' ? wanted : undefined, limit, target)
    : off;
  return fitted.isThinking ? fitted : off;
}

/** The limit, raised if it is only a default: thinking counts inside it, and the answer needs room too. */
function withRoom(
  { maxTokens, isSet }: Limit,
  thinking: number,
  { maxOutputTokens }: UpstreamTarget,
): number {
  const needed = thinking + tokensMaxDefault;
  return isSet ? maxTokens : Math.max(maxTokens, Math.min(needed, maxOutputTokens ?? needed));
}

/** At least 1024 and below the limit. */
function fitBudget(wanted: number | undefined, limit: Limit, target: UpstreamTarget): EncodedThinking {
  const goal = wanted ?? (limit.isSet ? limit.maxTokens : thinkingTokensMax);
  const maxTokens = withRoom(limit, goal, target);
  const budget = Math.min(Math.max(goal, budgetMin), maxTokens - 1);
  if (budget < budgetMin) return { maxTokens: limit.maxTokens, isThinking: false };
  return { maxTokens, thinking: { type: 'enabled', budget_tokens: budget }, isThinking: true };
}

function isForced({ toolChoice, tools, hasWebSearch }: Conversation): boolean {
  if (!toolChoice || (tools.length === 0 && !hasWebSearch)) return false;
  switch (toolChoice.type) {
    case 'required':
    case 'tool':
    case 'web-search':
      return true;
    case 'subset':
      return toolChoice.mode === 'required';
    case 'none':
    case 'auto':
      return false;
  }
}

/**
 * A model that thinks on a budget must see, as long as it is given results of its calls, what it
 * thought before it made them; where another provider made them there is nothing to be seen.
 */
function thoughtInLoop(turns: readonly Turn[]): boolean {
  for (const { role, parts } of turns.toReversed()) {
    if (role === 'user' && !parts.some(({ type }) => type === 'tool-result')) return true;
    const [first] = parts;
    const hasCalls = role === 'assistant' && parts.some(({ type }) => type === 'tool-call');
    if (hasCalls && !(first?.type === 'thinking' && nativeBlockOf(first))) return false;
  }
  return true;
}
