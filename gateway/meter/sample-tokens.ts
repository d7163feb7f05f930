// How many tokens are in a request that nobody has counted? The strings of its JSON are counted, from its beginning, and what lies
// behind is taken to be like it. Pure; how a text is counted comes in.

/** Bytes of a request, and characters of an answer, that are counted; more of it would only make the number finer. */
export const sampleMax = 128 * 1024;

/** About what a picture costs, whose bytes say nothing about it. */
const blobTokens = 1_000;

/** Shorter ones may be words. */
const blobLengthMin = 256;

type CountText = (text: string) => number;

/**
 * Names of members are counted too: they come to about what a provider adds for each turn.
 *
 * @param sample The beginning of a JSON text, perhaps all of it.
 * @param bytes Of the whole text.
 */
export function countRequest(sample: string, bytes: number, countText: CountText): number {
  let tokens = 0;
  let blobs = 0;
  let endsInBlob = false;
  for (const written of stringsOf(sample)) {
    const text = unescaped(written);
    const isBlob = looksLikeBlob(text);
    endsInBlob = isBlob && sample.endsWith(written);
    if (isBlob) blobs++;
    else tokens += countText(text);
  }
  const share = endsInBlob ? 1 : bytes / Math.max(1, Buffer.byteLength(sample));
  return Math.ceil(tokens * Math.max(1, share)) + blobs * blobTokens;
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

/** The bytes of a picture, a sound or a file, written as letters. */
function looksLikeBlob(text: string): boolean {
  return text.length >= blobLengthMin && /^(?:data:[^,]{1,200},)?[A-Za-z0-9+/=_-]+$/.test(text);
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
