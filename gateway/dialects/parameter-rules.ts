// Is each top-level member of a request of the right kind and inside its bounds? The rules are
// data, one table per dialect; `null` for an optional member counts as absent.

import { GatewayError } from '../errors.ts';
import { isRecord } from '../json/record.ts';
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
  | { readonly kind: 'object-or-string' };

export interface Parameter {
  readonly rule: ParameterRule;
  readonly isRequired?: boolean;
  /**
   * Looked at, not parsed: prompts may be megabytes long, and the upstream parses them anyway.
   * Only the first character and emptiness are checked.
   */
  readonly isLarge?: boolean;
}

export type ParameterTable = Readonly<Record<string, Parameter>>;

/** The checked values of all members in the table that are present, not null, and not large. */
export type ParameterValues = ReadonlyMap<string, unknown>;

/** @throws {GatewayError} `invalid_parameter` for the first member that breaks its rule. */
export function checkParameters(body: RequestBody, table: ParameterTable): ParameterValues {
  const values = new Map<string, unknown>();
  for (const [name, parameter] of Object.entries(table)) {
    const member = body.member(name);
    if (!member) {
      if (parameter.isRequired) throw invalid(name, 'is required');
      continue;
    }
    if (parameter.isLarge && member.valueEnd - member.valueStart > largeBytesMin) continue;
    const value = readValue(body, name, member);
    if (value === null && !parameter.isRequired) continue;
    const complaint = judge(value, parameter.rule);
    if (complaint) throw invalid(name, complaint);
    values.set(name, value);
  }
  return values;
}

/** @throws {GatewayError} always. */
export function invalidParameter(name: string, complaint: string): never {
  throw invalid(name, complaint);
}

const largeBytesMin = 16 * 1024;

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
      if (!Array.isArray(value) || value.some((item) => typeof item !== 'string')) {
        return `must be a string or a list of strings, not ${kindOf(value)}`;
      }
      return judgeCount(value.length, rule);
    case 'list':
      return Array.isArray(value) ? judgeCount(value.length, rule) : `must be a list, not ${kindOf(value)}`;
    case 'object':
      return isRecord(value) ? undefined : `must be an object, not ${kindOf(value)}`;
    case 'object-or-string':
      return isRecord(value) || typeof value === 'string'
        ? undefined
        : `must be a string or an object, not ${kindOf(value)}`;
  }
}

function judgeNumber(
  value: unknown,
  rule: { readonly kind: 'number' | 'integer'; readonly min?: number; readonly max?: number },
): string | undefined {
  const noun = rule.kind === 'integer' ? 'an integer' : 'a number';
  if (typeof value !== 'number' || !Number.isFinite(value)) return `must be ${noun}, not ${kindOf(value)}`;
  if (rule.kind === 'integer' && !Number.isInteger(value)) return `must be an integer, not ${value}`;
  const { min, max } = rule;
  const isInside = (min === undefined || value >= min) && (max === undefined || value <= max);
  if (isInside) return undefined;
  if (min !== undefined && max !== undefined) return `must be between ${min} and ${max}, not ${value}`;
  return min !== undefined ? `must be at least ${min}, not ${value}` : `must be at most ${max}, not ${value}`;
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
