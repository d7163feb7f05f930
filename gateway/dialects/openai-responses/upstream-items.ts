// What does an upstream's output item hold? Read leniently.

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { OpaqueState } from '../state/opaque.ts';
import { textsOf } from './decode-input.ts';

/** A call in the upstream's terms. */
interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Undefined if the item is no call, or is not named yet. */
export function readCall(item: JsonRecord): WireCall | undefined {
  const { type, name, namespace, call_id: id } = item;
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined;
  if (typeof name !== 'string' || name === '') return undefined;
  return {
    id: typeof id === 'string' ? id : '',
    name,
    ...(typeof namespace === 'string' && namespace !== '' ? { namespace } : {}),
  };
}

/** Some servers give arguments as an object. */
export function readInput(item: JsonRecord): string {
  const input = item.type === 'custom_tool_call' ? item.input : item.arguments;
  if (typeof input === 'string') return input;
  return asRecord(input) ? JSON.stringify(input) : '';
}

/** What of reasoning is shown: its summary, else itself. */
export function readThought({ summary, content }: JsonRecord): string {
  return textsOf(summary).join('\n\n') || textsOf(content).join('');
}

/** What the provider wants back with its reasoning. */
export function readState({ id, encrypted_content: value }: JsonRecord): OpaqueState | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return { kind: 'encrypted', value, ...(typeof id === 'string' ? { id } : {}) };
}

/** Undefined for what is no text. */
export function readContentPart(value: unknown):
  | {
      readonly type: 'text' | 'refusal';
      readonly text: string;
      readonly logprobs: readonly unknown[] | undefined;
    }
  | undefined {
  const part = asRecord(value);
  // Raw reasoning has its own type of content part.
  if (!part || part.type === 'reasoning_text') return undefined;
  const { refusal, text } = part;
  if (typeof refusal === 'string') return { type: 'refusal', text: refusal, logprobs: undefined };
  return typeof text === 'string' ? { type: 'text', text, logprobs: readLogprobs(part.logprobs) } : undefined;
}

export function readLogprobs(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value : undefined;
}
