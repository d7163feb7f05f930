// Does a value follow the rule of its parameter? A fault is returned as words to append to the parameter's name.

import { isRecord, type JsonRecord } from '../../json/record.ts';

export type ParameterRule =
  | { readonly kind: 'number' | 'integer'; readonly min?: number; readonly max?: number }
  | { readonly kind: 'boolean' }
  /** Not empty. */
  | { readonly kind: 'name' }
  | { readonly kind: 'string'; readonly lengthMax?: number }
  /** A string, or a list of strings. */
  | { readonly kind: 'texts'; readonly itemsMin: number; readonly itemsMax?: number }
  | { readonly kind: 'list'; readonly itemsMin: number; readonly itemsMax?: number }
  | { readonly kind: 'object' }
  /** An object whose values are all numbers inside the bounds. */
  | { readonly kind: 'numbers-by-name'; readonly min: number; readonly max: number }
  /** An object whose values are all strings. */
  | {
      readonly kind: 'texts-by-name';
      readonly entriesMax: number;
      readonly nameLengthMax: number;
      readonly textLengthMax: number;
    }
  | { readonly kind: 'object-or-string' }
  | { readonly kind: 'text-or-list' };

/** The fault of the value; undefined if the value is valid. */
export function judgeValue(value: unknown, rule: ParameterRule): string | undefined {
  switch (rule.kind) {
    case 'number':
    case 'integer':
      return judgeNumber(value, rule);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `must be a boolean, not ${kindOf(value)}`;
    case 'name':
      if (typeof value !== 'string') return `must be a string, not ${kindOf(value)}`;
      return value === '' ? 'must not be empty' : undefined;
    case 'string':
      if (typeof value !== 'string') return `must be a string, not ${kindOf(value)}`;
      return rule.lengthMax !== undefined && value.length > rule.lengthMax
        ? `must have at most ${rule.lengthMax} characters`
        : undefined;
    case 'texts':
      if (typeof value === 'string') return undefined;
      return Array.isArray(value)
        ? (judgeTexts(value) ?? judgeCount(value.length, rule))
        : `must be a string or a list of strings, not ${kindOf(value)}`;
    case 'list':
      return Array.isArray(value) ? judgeCount(value.length, rule) : `must be a list, not ${kindOf(value)}`;
    case 'object':
      return isRecord(value) ? undefined : `must be an object, not ${kindOf(value)}`;
    case 'numbers-by-name':
      return isRecord(value) ? judgeNumbers(value, rule) : `must be an object, not ${kindOf(value)}`;
    case 'texts-by-name':
      return isRecord(value) ? judgeEntries(value, rule) : `must be an object, not ${kindOf(value)}`;
    case 'object-or-string':
      return isRecord(value) || typeof value === 'string'
        ? undefined
        : `must be a string or an object, not ${kindOf(value)}`;
    case 'text-or-list':
      return typeof value === 'string' || Array.isArray(value)
        ? undefined
        : `must be a string or a list, not ${kindOf(value)}`;
  }
}

function judgeNumber(
  value: unknown,
  rule: { readonly kind: 'number' | 'integer'; readonly min?: number; readonly max?: number },
): string | undefined {
  const noun = rule.kind === 'integer' ? 'an integer' : 'a number';
  if (typeof value !== 'number') return `must be ${noun}, not ${kindOf(value)}`;
  if (!Number.isFinite(value)) return `must be ${noun}; the value sent is too large`;
  if (rule.kind === 'integer' && !Number.isInteger(value)) return `must be an integer, not ${value}`;
  const { min, max } = rule;
  const isInside = (min === undefined || value >= min) && (max === undefined || value <= max);
  if (isInside) return undefined;
  if (min !== undefined && max !== undefined) return `must be between ${min} and ${max}, not ${value}`;
  return min !== undefined ? `must be at least ${min}, not ${value}` : `must be at most ${max}, not ${value}`;
}

function judgeTexts(items: readonly unknown[]): string | undefined {
  const at = items.findIndex((item) => typeof item !== 'string');
  return at === -1 ? undefined : `must be a string or a list of strings; item ${at} is ${kindOf(items[at])}`;
}

/** Names in messages are cut to this length. */
const shownLengthMax = 64;

function judgeNumbers(
  value: JsonRecord,
  { min, max }: { readonly min: number; readonly max: number },
): string | undefined {
  for (const [name, entry] of Object.entries(value)) {
    const complaint = judgeNumber(entry, { kind: 'number', min, max });
    if (complaint) return `has a member ${JSON.stringify(name.slice(0, shownLengthMax))} that ${complaint}`;
  }
  return undefined;
}

function judgeEntries(
  value: JsonRecord,
  rule: { readonly entriesMax: number; readonly nameLengthMax: number; readonly textLengthMax: number },
): string | undefined {
  const entries = Object.entries(value);
  if (entries.length > rule.entriesMax) {
    return `must have at most ${rule.entriesMax} entries, not ${entries.length}`;
  }
  for (const [name, text] of entries) {
    const shown = JSON.stringify(name.slice(0, shownLengthMax));
    if (name.length > rule.nameLengthMax) {
      return `has a name longer than ${rule.nameLengthMax} characters: ${shown}`;
    }
    if (typeof text !== 'string') return `has a member ${shown} that must be a string, not ${kindOf(text)}`;
    if (text.length > rule.textLengthMax) {
      return `has a member ${shown} longer than ${rule.textLengthMax} characters`;
    }
  }
  return undefined;
}

/** As it may be written: `\\u0041`. */
const bytesPerCharacter = 6;

/** Quotes, a colon, a comma, and some blanks. */
const bytesPerEntry = 16;

/** Members other than prompts are never this long. */
const bytesMax = 1024 * 1024;

/** The fault of a value of this size; checked before parsing, which takes long for long values. */
export function judgeLength(bytes: number, rule: ParameterRule): string | undefined {
  if (rule.kind === 'string' && rule.lengthMax !== undefined) {
    const isTooLong = bytes > rule.lengthMax * bytesPerCharacter + 2;
    return isTooLong ? `must have at most ${rule.lengthMax} characters` : undefined;
  }
  if (rule.kind === 'texts-by-name') {
    const { entriesMax, nameLengthMax, textLengthMax } = rule;
    const entryBytes = (nameLengthMax + textLengthMax) * bytesPerCharacter + bytesPerEntry;
    if (bytes <= entriesMax * entryBytes) return undefined;
    return `must have at most ${entriesMax} entries of at most ${textLengthMax} characters`;
  }
  return bytes > bytesMax ? `must not be longer than ${bytesMax / 1024 / 1024} MiB` : undefined;
}

/** A long value: scalars cannot be meant, so the first byte tells the kind. */
export function judgeFirstByte(byte: number, rule: ParameterRule): string | undefined {
  const isList = byte === 0x5b;
  const isObject = byte === 0x7b;
  const found = isList ? 'a list' : isObject ? 'an object' : byte === 0x22 ? 'a string' : 'something else';
  if (rule.kind === 'list') return isList ? undefined : `must be a list, not ${found}`;
  if (rule.kind === 'string') return byte === 0x22 ? undefined : `must be a string, not ${found}`;
  if (rule.kind === 'text-or-list') {
    return isList || byte === 0x22 ? undefined : `must be a string or a list, not ${found}`;
  }
  return isObject ? undefined : `must be an object, not ${found}`;
}

function judgeCount(
  count: number,
  rule: { readonly itemsMin: number; readonly itemsMax?: number },
): string | undefined {
  if (count < rule.itemsMin)
    return `must have at least ${rule.itemsMin} item${rule.itemsMin === 1 ? '' : 's'}`;
  if (rule.itemsMax !== undefined && count > rule.itemsMax) {
    return `must have at most ${rule.itemsMax} items, not ${count}`;
  }
  return undefined;
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
