// Is each top-level member of a request of the right kind and inside its bounds? The rules are
// data, one table per dialect; `null` for an optional member counts as absent.

import { foldName } from '../../json/fold-name.ts';
import { isRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import { GatewayError } from '../../request/errors.ts';
import { judgeFirstByte, judgeLength, judgeValue, kindOf, type ParameterRule } from './judge-value.ts';
import { otherAddress, otherToolForm, type ToolFormName } from './other-dialect.ts';

interface Parameter {
  readonly rule: ParameterRule;
  readonly isRequired?: boolean;
  /**
   * Where it is long it is looked at, not parsed: it may be megabytes long, and the upstream parses
   * it anyway. Then only its first character is checked, and it is missing from the values.
   */
  readonly isLarge?: boolean;
  /** It is read however long it is. */
  readonly isLong?: boolean;
  /** Whether the bytes of a body have it there as most requests do: then it is not parsed, and missing from the values. */
  readonly isUsual?: (body: Buffer, from: number, to: number) => boolean;
}

export type ParameterTable = Readonly<Record<string, Parameter>>;

/** The checked values of all members in the table that are present and not null; undefined if too large to be looked at, or as usual. */
export type ParameterValues = ReadonlyMap<string, unknown>;

/** @throws {GatewayError} `invalid_parameter` for the first member that breaks its rule. */
export function checkParameters(body: RequestBody, table: ParameterTable): ParameterValues {
  const values = new Map<string, unknown>();
  for (const member of body.scan.members) {
    const { name } = member;
    const parameter = Object.hasOwn(table, name) ? table[name] : undefined;
    if (!parameter) {
      // An upstream that ignores case would read it as the parameter, whose value nothing has checked.
      const meant = foldName(name);
      if (meant !== name && Object.hasOwn(table, meant)) throw invalid(name, `is written '${meant}'`);
      continue;
    }
    const bytes = member.valueEnd - member.valueStart;
    if (bytes > largeBytesMin && !parameter.isLarge && !parameter.isLong) {
      const complaint = judgeLength(bytes, parameter.rule);
      if (complaint) throw invalid(name, complaint);
    }
    if (bytes > largeBytesMin && parameter.isLarge) {
      const complaint = judgeFirstByte(byteAt(body.chunks, member.valueStart), parameter.rule);
      if (complaint) throw invalid(name, complaint);
      // Present, whatever else it holds.
      values.set(name, undefined);
      continue;
    }
    const unread = parameter.isUsual && body.unread;
    if (unread && parameter.isUsual?.(unread, member.valueStart, member.valueEnd)) {
      values.set(name, undefined);
      continue;
    }
    const value = readValue(body, name, member);
    if (value === null && !parameter.isRequired) continue;
    const complaint = judgeValue(value, parameter.rule);
    if (complaint) throw invalid(name, complaint);
    values.set(name, value);
  }
  for (const name of requiredNames(table)) if (!values.has(name)) missingParameter(body, table, name);
  return values;
}

/** @throws {GatewayError} `invalid_parameter`, always; of a body of another dialect it names the address that takes it. */
export function missingParameter(body: RequestBody, table: ParameterTable, name: string): never {
  throw invalid(name, requiredWords(otherAddress(body, table)));
}

/**
 * @param tools Undefined if they are too long to be looked at.
 * @throws {GatewayError} `invalid_parameter`, naming what a function in the form of another dialect lacks.
 */
export function checkToolForms(tools: unknown, own: ToolFormName): void {
  if (!Array.isArray(tools)) return;
  for (let index = 0; index < tools.length; index++) {
    const other = otherToolForm(tools[index], own);
    if (other) throw invalid(`tools[${index}].${other.lacks}`, requiredWords(other.words));
  }
}

function requiredWords(wayOut: string | undefined): string {
  return wayOut === undefined ? 'is required' : `is required. ${wayOut}`;
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

/** Of the facts of a request: how many tokens each answer may have, where the checked value of its parameter says so. */
export function outputTokensMax(value: unknown): { readonly outputTokensMax?: number } {
  return typeof value === 'number' ? { outputTokensMax: value } : {};
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

function byteAt(chunks: readonly Buffer[], at: number): number {
  let offset = at;
  for (const chunk of chunks) {
    if (offset < chunk.length) return chunk[offset] ?? 0;
    offset -= chunk.length;
  }
  return 0;
}
