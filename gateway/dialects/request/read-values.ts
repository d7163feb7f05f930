// Which values do a request's members hold? Strict: an error names the path of the wrong value.

import type { Feature } from '../../../core/catalog/capabilities.ts';
import { isRecord, type JsonRecord } from '../../json/record.ts';
import type { RequestBody } from '../../json/request-body.ts';
import { keepSources, sourceLengthMax } from '../../json/sources.ts';
import { invalidParameter } from './parameter-rules.ts';

/** Notes that the request asks for a feature in a parameter. */
export type NoteAsk = (feature: Feature, param: string) => void;

/**
 * A top-level member; undefined if it is absent or null.
 *
 * @throws {GatewayError} `invalid_parameter` if it is not valid JSON, as all functions here.
 */
export function readMember(body: RequestBody, name: string): unknown {
  const member = body.member(name);
  if (!member) return undefined;
  try {
    return body.read(member) ?? undefined;
  } catch {
    return invalidParameter(name, 'is not valid JSON');
  }
}

/**
 * The same, of a member that holds whole values: schemas and arguments are carried as they were written.
 */
export function readWhole(body: RequestBody, name: string): unknown {
  const value = readMember(body, name);
  const member = body.member(name);
  if (member && value !== undefined) keepSources(value, body.text(member, sourceLengthMax + 1));
  return value;
}

export function readRecord(value: unknown, path: string): JsonRecord {
  return isRecord(value) ? value : invalidParameter(path, 'must be an object');
}

/** An object, or nothing if it is absent or null. */
export function readOptionalRecord(value: unknown, path: string): JsonRecord | undefined {
  return value === undefined || value === null ? undefined : readRecord(value, path);
}

export function readText(value: unknown, path: string): string {
  return typeof value === 'string' ? value : invalidParameter(path, 'is required and must be a string');
}

export function readName(value: unknown, path: string): string {
  const name = readText(value, path);
  return name === '' ? invalidParameter(path, 'must not be empty') : name;
}

export function readOptionalText(value: unknown, path: string): string | undefined {
  return value === undefined || value === null ? undefined : readText(value, path);
}

export function readFlag(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  return typeof value === 'boolean' ? value : invalidParameter(path, 'must be a boolean');
}

export function readList(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : invalidParameter(path, 'must be a list');
}

/** Notes the path of each table entry that the record sets to something other than null. */
export function noteMembers(
  record: JsonRecord,
  path: string,
  members: Readonly<Record<string, Feature>>,
  note: NoteAsk,
): void {
  for (const [name, feature] of Object.entries(members)) {
    const value = record[name];
    if (value !== undefined && value !== null) note(feature, `${path}.${name}`);
  }
}

/** `cache_control`, as it came. */
export function readCacheHint(
  record: JsonRecord,
  path: string,
  note: NoteAsk,
): { readonly cacheHint?: JsonRecord } {
  const at = `${path}.cache_control`;
  const cacheHint = readOptionalRecord(record.cache_control, at);
  if (!cacheHint) return {};
  note('cache-hint', at);
  return { cacheHint };
}
