// How shall the answer be thought out, shaped and sampled?

import type { JsonRecord } from '../../json/record.ts';
import { changeAsWritten } from '../../json/sources.ts';
import { JsonText } from '../../json/write-json.ts';
import { encodeOutputSchema, requiresAll } from '../anthropic/output-schema.ts';
import type { OutputFormat, Reasoning, Sampling } from '../conversation.ts';
import { invalidParameter } from '../request/parameter-rules.ts';
import { type NoteAsk, readOptionalRecord, readOptionalText, readRecord } from '../request/read-values.ts';

/**
 * @param effort From the output settings, or from a system message.
 * @param maxTokens Undefined if tokens are only counted.
 */
export function decodeReasoning(
  thinking: unknown,
  effort: string | undefined,
  maxTokens: number | undefined,
  note: NoteAsk,
): Reasoning | undefined {
  const members = readOptionalRecord(thinking, 'thinking');
  const given = effort === undefined ? {} : { effort };
  if (!members) return effort === undefined ? undefined : { mode: 'adaptive', effort };
  switch (members.type) {
    case 'disabled':
      return { mode: 'off' };
    case 'adaptive':
    case 'between_tools':
      note('reasoning', 'thinking');
      return { mode: 'adaptive', ...given, ...decodeDisplay(members, undefined, note) };
    case 'enabled': {
      note('reasoning', 'thinking');
      const budget = readBudget(members.budget_tokens);
      const shown = decodeDisplay(members, 'auto', note);
      // All there is: "no limit" more than "as much as possible".
      if (maxTokens !== undefined && budget >= maxTokens - 1) {
        return { mode: 'adaptive', effort: 'high', ...given, ...shown };
      }
      return { mode: 'budget', budgetTokens: budget, ...given, ...shown };
    }
    default:
      return invalidParameter('thinking.type', 'must be one of enabled, adaptive, disabled, between_tools');
  }
}

/** @param byDefault Whether thinking is shown by default: models with a thinking budget show it. */
function decodeDisplay(
  thinking: JsonRecord,
  byDefault: 'auto' | undefined,
  note: NoteAsk,
): { readonly summary?: string } {
  const display = readOptionalText(thinking.display, 'thinking.display');
  if (display !== undefined && display !== 'omitted') note('reasoning-summary', 'thinking.display');
  const isShown = display === undefined ? byDefault === 'auto' : display !== 'omitted';
  return isShown ? { summary: 'auto' } : {};
}

function readBudget(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) >= 1024) return Number(value);
  return invalidParameter('thinking.budget_tokens', 'is required and must be an integer of at least 1024');
}

/** @param older The beta's name for the same, beside the output settings. */
export function decodeOutput(config: JsonRecord | undefined, older: unknown, note: NoteAsk): OutputFormat {
  const [path, value] =
    config?.format === undefined || config.format === null
      ? ['output_format', older]
      : ['output_config.format', config.format];
  const format = readOptionalRecord(value, path);
  if (!format) return { type: 'text' };
  if (format.type !== 'json_schema') return invalidParameter(`${path}.type`, 'must be json_schema');
  note('json-schema', path);
  const schema = readRecord(format.schema, `${path}.schema`);
  // This dialect holds the model to the schema. Others do so only where every property is required.
  const closed = changeAsWritten(schema, encodeOutputSchema);
  return requiresAll(schema)
    ? { type: 'json-schema', schema: closed instanceof JsonText ? schema : closed, isStrict: true }
    : { type: 'json-schema', schema };
}

/** @param read Gives the checked value of a top-level member. */
export function decodeSampling(read: (name: string) => unknown, note: NoteAsk): Sampling {
  const temperature = read('temperature');
  const topP = read('top_p');
  const topK = read('top_k');
  const stops = read('stop_sequences');
  const stop = Array.isArray(stops) ? stops.map(String) : [];
  if (typeof temperature === 'number' && temperature !== 1) note('temperature', 'temperature');
  if (typeof topP === 'number' && topP !== 1) note('top-p', 'top_p');
  if (typeof topK === 'number') note('top-k', 'top_k');
  if (typeof temperature === 'number' && typeof topP === 'number') note('top-p-beside-temperature', 'top_p');
  if (stop.length > 0) {
    note('stop', 'stop_sequences');
    note('stop-name', 'stop_sequences');
  }
  return {
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof topP === 'number' ? { topP } : {}),
    ...(typeof topK === 'number' ? { topK } : {}),
    ...(stop.length > 0 ? { stop } : {}),
  };
}
