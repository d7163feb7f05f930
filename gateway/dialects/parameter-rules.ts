// Is each top-level member of a request of the right kind and inside its bounds? The rules are
// data, one table per dialect; `null` for an optional member counts as absent.

import { GatewayError } from '../errors.ts';
import { isRecord, type JsonRecord } from '../json/record.ts';
import type { RequestBody } from '../json/request-body.ts';

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

export interface Parameter {
  readonly rule: ParameterRule;
  readonly isRequired?: boolean;
  /**
   * Where it is long it is looked at, not parsed: it may be megabytes long, and the upstream parses
   * it anyway. Then only its first character is checked, and it is missing from the values.
   */
  readonly isLarge?: boolean;
}

export type ParameterTable = Readonly<Record<string, Parameter>>;

/** The checked values of all members in the table that are present and not null; undefined where too large to be looked at. */
export type ParameterValues = ReadonlyMap<string, unknown>;

/** @throws {GatewayError} `invalid_parameter` for the first member that breaks its rule. */
export function checkParameters(body: RequestBody, table: ParameterTable): ParameterValues {
  const values = new Map<string, unknown>();
  for (const member of body.scan.members) {
    const { name } = member;
    const parameter = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!parameter) continue;
    if (parameter.isLarge && member.valueEnd - member.valueStart > largeBytesMin) {
      const complaint = judgeFirstByte(byteAt(body.chunks, member.valueStart), parameter.rule);
      if (complaint) throw invalid(name, complaint);
      // Present, whatever else it holds.
      values.set(name, undefined);
      continue;
    }
    const value = readValue(body, name, member);
    if (value === null && !parameter.isRequired) continue;
    const complaint = judge(value, parameter.rule);
    if (complaint) throw invalid(name, complaint);
    values.set(name, value);
  }
  for (const name of requiredNames(table)) if (!values.has(name)) throw invalid(name, 'is required');
  return values;
}

function requiredNames(table: ParameterTable): readonly string[] {
  let names = required.get(table);
  if (!names) {
    names = Object.keys(table).filter((name) => table[name]?.isRequired);
    required.set(table, names);
  }
  return names;
}

/** The tables are constants; what is required of each is found out once. */
const required = new WeakMap<ParameterTable, readonly string[]>();

/** @throws {GatewayError} always. */
export function invalidParameter(name: string, complaint: string): never {
  throw invalid(name, complaint);
}

/**
 * Whether the caller wants a usage chunk in its stream.
 *
 * @param options The checked value of `stream_options`.
 * @throws {GatewayError} `invalid_parameter`.
 */
export function readStreamOptions(options: unknown, isStream: boolean): boolean {
  if (!isRecord(options)) return false;
  if (!isStream) invalidParameter('stream_options', "is only allowed together with 'stream': true");
  const { include_usage: wanted } = options;
  if (wanted === undefined || wanted === null) return false;
  if (typeof wanted === 'boolean') return wanted;
  return invalidParameter('stream_options.include_usage', `must be a boolean, not ${kindOf(wanted)}`);
}

const largeBytesMin = 16 * 1024;

/** Names in messages are cut to so many characters. */
const shownLengthMax = 64;

function readValue(body: RequestBody, name: string, member: Parameters<RequestBody['read']>[0]): unknown {
  try {
    return body.read(member);
  } catch {
    throw invalid(name, 'is not valid JSON');
  }
}

function invalid(name: string, complaint: string): GatewayError {
  return new GatewayError('invalid_parameter', `'${name}' ${complaint}.`, { param: name });
}

function judge(value: unknown, rule: ParameterRule): string | undefined {
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
  if (!Number.isFinite(value)) return `must be ${noun}; the one sent is too large to be held`;
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

/** A long value: scalars cannot be meant, so the first byte tells the kind. */
function judgeFirstByte(byte: number, rule: ParameterRule): string | undefined {
  const isList = byte === 0x5b;
  const isObject = byte === 0x7b;
  const found = isList ? 'a list' : isObject ? 'an object' : byte === 0x22 ? 'a string' : 'something else';
  if (rule.kind === 'list') return isList ? undefined : `must be a list, not ${found}`;
  if (rule.kind === 'text-or-list') {
    return isList || byte === 0x22 ? undefined : `must be a string or a list, not ${found}`;
  }
  return isObject ? undefined : `must be an object, not ${found}`;
}

function byteAt(chunks: readonly Buffer[], at: number): number {
  let offset = at;
  for (const chunk of chunks) {
    if (offset < chunk.length) return chunk[offset] ?? 0;
    offset -= chunk.length;
  }
  return 0;
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

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
