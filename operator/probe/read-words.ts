// Reads the error text of an upstream leniently: an object, a list with one object, plain text, or nothing. Pure.

import type { RefusalWords } from '../../core/contract/refused-key.ts';
import { parseJson } from '../../core/parse-json.ts';

export function readWords(body: string): RefusalWords {
  const outer = asObject(firstOf(parseJson(body)));
  const inner = asObject(outer.error);
  return {
    message: text(inner.message) ?? text(outer.error) ?? text(outer.message) ?? '',
    type: text(inner.type) ?? text(outer.type) ?? null,
    code: text(inner.code) ?? text(outer.code) ?? null,
  };
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
