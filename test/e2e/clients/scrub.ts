// What of a client's request may be kept as a fixture? Its form: without ids, places, dates, keys and facts of the
// machine, and without the prose of its prompts.

import type { Recorded } from './recorder.ts';

export interface ClientFixture {
  readonly client: string;
  readonly version: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Long prose becomes this; who replays a fixture puts prose of its own there. */
export const longText = '<long text>';

const proseMin = 120;

const dropped = new Set(['authorization', 'host', 'connection', 'content-length', 'accept-encoding']);
const ofTheMachine = new Set(['x-stainless-arch', 'x-stainless-os']);
/** Their order changes from run to run. */
const unordered = new Set(['client_metadata']);

/** @param places Folders of this run, and what to call them. */
export function scrubRequest(
  { method, path, headers, body }: Recorded,
  client: Pick<ClientFixture, 'client' | 'version'>,
  places: Readonly<Record<string, string>>,
): ClientFixture {
  const clean = (text: string): string => scrubText(text, places);
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name));
  return {
    ...client,
    method,
    path,
    headers: Object.fromEntries(
      kept.map(([name, value]) => [name, ofTheMachine.has(name) ? 'machine' : clean(value)]),
    ),
    body: scrubValue(body, clean),
  };
}

function scrubValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') {
    const text = clean(value);
    return text.length >= proseMin && !isJson(value) ? longText : text;
  }
  if (Array.isArray(value)) return value.map((item) => scrubValue(item, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, scrubValue(inOrder(name, inner), clean)]),
  );
}

function inOrder(name: string, value: unknown): unknown {
  if (!unordered.has(name) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

const patterns: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '00000000-0000-4000-8000-000000000000'],
  [/\b[0-9a-f]{64}\b/g, '0'.repeat(64)],
  [/(date is |<current_date>)20\d\d-\d\d-\d\d/g, '$12026-01-01'],
  [/("turn_started_at_unix_ms":)\d+/g, '$11767225600000'],
  // In brackets of the user agent: the system and the terminal.
  [/^(codex_exec\/[\d.]+) .*$/g, '$1 (machine)'],
  [/\b(call|toolu)_[0-9a-f]{16}\b/g, '$1_0000000000000000'],
  [/\b(rs|fc|msg|resp)_sim[0-9a-f]+\b/g, '$1_0000000000000000'],
  [/\bsimulator1\.[\w-]+\.[\w-]+/g, '<state>'],
  [/(Chunk ID: |"chunk_id":")[0-9a-f]+/g, '$1000000'],
  [/(Wall time:? |"wall_time_seconds":)[\d.e-]+/g, '$10.0'],
];

function scrubText(text: string, places: Readonly<Record<string, string>>): string {
  let clean = text;
  for (const [place, name] of Object.entries(places)) clean = clean.replaceAll(place, name);
  for (const [pattern, instead] of patterns) clean = clean.replace(pattern, instead);
  return clean;
}

function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
