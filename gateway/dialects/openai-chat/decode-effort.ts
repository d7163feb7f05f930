// How much shall the model think? OpenAI's `reasoning_effort`; else `reasoning` as OpenRouter has it, or `thinking` as Anthropic's
// endpoint of this dialect takes it. Strangers to this API may have other forms, which are left out and named.
// OpenRouter documentation, "Reasoning tokens"; Anthropic documentation, "OpenAI SDK compatibility", 2026-11.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Reasoning } from '../conversation.ts';
import type { NoteAsk } from '../request/read-values.ts';

interface EffortMembers {
  readonly effort: string | undefined;
  readonly reasoning: unknown;
  readonly thinking: unknown;
}

/** The first of the three that sets an effort; unknown values are noted as unknown. */
export function decodeEffort(
  { effort, reasoning, thinking }: EffortMembers,
  note: NoteAsk,
): Reasoning | undefined {
  const given = [
    ['reasoning_effort', effort === undefined ? undefined : wishOf(effort)],
    ['reasoning', wishOfReasoning(asRecord(reasoning))],
    ['thinking', wishOfThinking(asRecord(thinking))],
  ] as const;
  const [name, wish] = given.find(([, found]) => found !== undefined) ?? [];
  if (name !== undefined && wish && wish.mode !== 'off') {
    note('reasoning', name);
    if (wish.summary !== undefined) note('reasoning-summary', name);
  }
  if (reasoning !== undefined && !given[1][1]) note('unknown-member', 'reasoning');
  if (thinking !== undefined && !given[2][1]) note('unknown-member', 'thinking');
  return wish;
}

function wishOf(effort: string): Reasoning {
  return effort === 'none' ? { mode: 'off', effort } : { mode: 'adaptive', effort };
}

function wishOfReasoning(members: JsonRecord | undefined): Reasoning | undefined {
  if (!members) return undefined;
  const { effort, max_tokens: budget, enabled, summary } = members;
  const shown = typeof summary === 'string' ? { summary } : {};
  if (typeof effort === 'string') return { ...wishOf(effort), ...shown };
  if (isBudget(budget)) return { mode: 'budget', budgetTokens: budget, ...shown };
  if (enabled === false) return { mode: 'off' };
  return enabled === true || typeof summary === 'string' ? { mode: 'adaptive', ...shown } : undefined;
}

function wishOfThinking(members: JsonRecord | undefined): Reasoning | undefined {
  const { type, budget_tokens: budget, display } = members ?? {};
  const shown = display === 'summarized' ? { summary: 'auto' } : {};
  if (type === 'disabled') return { mode: 'off' };
  if (type === 'enabled' && isBudget(budget)) return { mode: 'budget', budgetTokens: budget, ...shown };
  return type === 'enabled' || type === 'adaptive' ? { mode: 'adaptive', ...shown } : undefined;
}

function isBudget(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
