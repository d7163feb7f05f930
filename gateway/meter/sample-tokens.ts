// How many tokens are in a request that no upstream has counted? The strings at the beginning of its JSON are counted, and the rest is taken
// to be similar. Pure; the way of counting a text is a parameter.

import { mediaTexts } from '../json/media-texts.ts';

/** Bytes of a request, and characters of an answer, that are counted; more of it would only make the number finer. */
export const sampleMax = 128 * 1024;

/** About what a picture costs, whose bytes say nothing about it. */
const mediaTokens = 1_000;

type CountText = (text: string) => number;

/** A request without its pictures, sounds and files. */
export interface RequestSample {
  /** The beginning of its JSON, perhaps all of it. */
  readonly text: Uint8Array;
  /** All that is text, in bytes. */
  readonly textBytes: number;
  /** How many were left out. */
  readonly media: number;
}

export function sampleRequest(chunks: readonly Buffer[], bytes: number): RequestSample {
  const media = [...mediaTexts(chunks)];
  const textBytes = media.reduce((left, { from, to }) => left - (to - from), bytes);
  const text = new Uint8Array(Math.min(sampleMax, textBytes));
  let filled = 0;
  let offset = 0;
  let next = 0;
  for (const chunk of chunks) {
    const end = offset + chunk.length;
    for (let at = offset; at < end && filled < text.length; ) {
      const { from, to } = media[next] ?? { from: end, to: end };
      if (at < from) {
        const stop = Math.min(end, from, at + text.length - filled);
        text.set(chunk.subarray(at - offset, stop - offset), filled);
        filled += stop - at;
        at = stop;
      } else {
        at = Math.min(end, to);
        if (at === to) next++;
      }
    }
    if (filled === text.length) break;
    offset = end;
  }
  return { text, textBytes, media: media.length };
}

/** Names of members are counted too: they come to about what a provider adds for each turn. */
export function countRequest({ text, textBytes, media }: RequestSample, countText: CountText): number {
  const json = Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8');
  let tokens = 0;
  for (const written of stringsOf(json)) tokens += countText(unescaped(written));
  const share = textBytes / Math.max(1, text.length);
  return Math.ceil(tokens * share) + media * mediaTokens;
}

/** @param length Characters of the whole answer. */
export function countAnswer(sample: string, length: number, countText: CountText): number {
  return Math.ceil((countText(sample) * length) / Math.max(1, sample.length));
}

/** Of a JSON text, as they are written; the last one may be cut. */
function* stringsOf(json: string): Generator<string> {
  for (let from = json.indexOf('"'); from !== -1; ) {
    let to = json.indexOf('"', from + 1);
    while (to !== -1 && isEscaped(json, to)) to = json.indexOf('"', to + 1);
    yield json.slice(from + 1, to === -1 ? undefined : to);
    if (to === -1) return;
    from = json.indexOf('"', to + 1);
  }
}

function isEscaped(json: string, at: number): boolean {
  let slashes = 0;
  while (json[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}

function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    // Cut in the middle of an escape.
    return text;
  }
}
