// How much shall a Gemini model think? By a budget of tokens, or by a level; a model refuses both at once, and the other one's.

import type { Conversation } from '../conversation.ts';
import { effortOf } from '../request/reasoning-effort.ts';
import type { ModelTraits, ThinkingLevel, ThinkingTraits } from './model-traits.ts';

interface EncodedThinking {
  /** Undefined: the model's own way. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The model thinks more or less than it was asked to. */
  readonly isWeakened: boolean;
}

export function encodeThinking(
  { reasoning, maxOutputTokens }: Pick<Conversation, 'reasoning' | 'maxOutputTokens'>,
  { thinking }: ModelTraits,
): EncodedThinking {
  if (!reasoning) return { isWeakened: false };
  const effort = effortOf(reasoning, maxOutputTokens);
  if (!thinking) return { isWeakened: effort !== 'none' };
  const shown = reasoning.summary !== undefined && effort !== 'none' ? { includeThoughts: true } : {};
  const { wish, isWeakened } =
    thinking.by === 'budget'
      ? budgetFor(effort, reasoning.budgetTokens, thinking)
      : levelFor(effort, reasoning.budgetTokens, thinking.levels);
  const config = { ...wish, ...shown };
  return Object.keys(config).length === 0 ? { isWeakened } : { config, isWeakened };
}

interface Wish {
  readonly wish: Readonly<Record<string, unknown>>;
  readonly isWeakened: boolean;
}

const budgets: Readonly<Record<string, number>> = {
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
};

function budgetFor(
  effort: string | undefined,
  budgetTokens: number | undefined,
  { min, max, canBeOff }: Extract<ThinkingTraits, { by: 'budget' }>,
): Wish {
  if (effort === 'none') return { wish: { thinkingBudget: canBeOff ? 0 : min }, isWeakened: !canBeOff };
  const wanted = budgetTokens ?? (effort === undefined ? undefined : (budgets[effort] ?? max));
  if (wanted === undefined) return { wish: {}, isWeakened: false };
  const thinkingBudget = Math.min(Math.max(wanted, min), max);
  return { wish: { thinkingBudget }, isWeakened: false };
}

const levelOf: Readonly<Record<string, ThinkingLevel>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'XHIGH',
  max: 'XHIGH',
};

function levelFor(
  effort: string | undefined,
  budgetTokens: number | undefined,
  levels: readonly ThinkingLevel[],
): Wish {
  const wanted =
    effort === 'none' || budgetTokens === undefined
      ? effort === undefined
        ? undefined
        : (levelOf[effort] ?? 'HIGH')
      : levelOfBudget(budgetTokens);
  if (wanted === undefined) return { wish: {}, isWeakened: false };
  const known = levels.includes(wanted) ? wanted : wanted === 'MINIMAL' ? 'LOW' : 'HIGH';
  // A model of this kind cannot be kept from thinking.
  return { wish: { thinkingLevel: known }, isWeakened: effort === 'none' || wanted !== known };
}

function levelOfBudget(tokens: number): ThinkingLevel {
  if (tokens <= 1024) return 'LOW';
  return tokens <= 8192 ? 'MEDIUM' : 'HIGH';
}
