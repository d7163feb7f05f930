// What does the text of one event say? Text is latin1 of UTF-8 bytes, so that places in it are places
// in the bytes, and nothing is decoded that is not looked at.

import { parseJson } from '../../../core/parse-json.ts';
import { readErrorMember } from '../answer/read-error.ts';

/** Ends the streams of the OpenAI text dialects; some providers append it to streams of other dialects, too. */
export const doneMark = '[DONE]';

/** Whether data is empty, so that its event is skipped. */
export function holdsNothing(trimmed: string): boolean {
  return trimmed === '' || trimmed === 'null' || trimmed === '""';
}

/** Whether data has the outer shape of a JSON object; the only check for long data. */
export function looksLikeObject(trimmed: string): boolean {
  return trimmed.charCodeAt(trimmed.length - 1) === 0x7d && objectStart.test(trimmed);
}

/** Up to the first name, if there is one: what else servers print in braces is caught by it. */
const objectStart = /^\{\s*["}]/;

/** The fields of an event that mean something here; `text` has LF line ends only. */
export function readLines(text: string): {
  readonly name: string | undefined;
  readonly data: readonly string[];
} {
  const data: string[] = [];
  let name: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('data:')) data.push(line.slice(line.charCodeAt(5) === 0x20 ? 6 : 5));
    else if (line.startsWith('event:')) name = line.slice(6).trim();
    else if (line.startsWith(errorField))
      return { name: 'error', data: [line.slice(errorField.length).trim()] };
  }
  return data.length === 0 && isBareError(toUtf8(text))
    ? { name: 'error', data: text.split('\n') }
    : { name, data };
}

/** Not a field of server-sent events. llama.cpp reported errors in it until autumn 2025 (ggml-org/llama.cpp#16109). */
const errorField = 'error:';

/**
 * Whether lines without a field are an error in JSON: Google's servers and some proxies append one to the
 * events as if it were a body (vercel/ai#5217).
 */
export function isBareError(lines: string): boolean {
  const text = lines.trim();
  return text.startsWith('{') && text.endsWith('}') && readErrorMember(parseJson(text)) !== undefined;
}

export function parseLatin1(text: string): unknown {
  return parseJson(toUtf8(text));
}

export function toUtf8(latin1: string): string {
  return aboveAscii.test(latin1) ? Buffer.from(latin1, 'latin1').toString('utf8') : latin1;
}

/** Looking costs less than two copies, and most events have none. */
const aboveAscii = /[\x80-\xff]/;
