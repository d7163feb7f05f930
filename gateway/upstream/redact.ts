// Which words hold a secret, or a good part of it, however it is spelled?

/** This many characters of a secret in a row are no accident, at any position. Providers show fewer characters of a key on purpose. */
const runLength = 12;
/** Of its end, and of its beginning where a text is cut. Shorter values are no secrets: to take them out would garble what is said. */
const lengthMin = 8;

/** No secret has blanks in it, and most words of a sentence are shorter than any. */
const longWords = /\S{8,}/g;

const mark = '[redacted]';

/**
 * The text without the secrets, none of which has blanks in it. The patterns are built once: an upstream may fail many times a second.
 */
export function openRedactor(secrets: readonly string[]): (text: string) => string {
  const spelled = secrets
    .filter(({ length }) => length >= lengthMin)
    .flatMap(spellings)
    .map(fold)
    .filter(({ length }) => length >= lengthMin);
  const runs = runsOf(spelled);
  return (text) => {
    const folded = fold(text);
    const cutAt = cutBeginning(folded, spelled);
    let clean = '';
    let done = 0;
    for (const { 0: word, index } of folded.matchAll(longWords)) {
      for (let at = index; at <= index + word.length - lengthMin; at++) {
        const end = at === cutAt ? text.length : endOfRun(folded, at, runs);
        if (end === undefined) continue; // guard: redact-upstream-key
        // A run that overlaps or directly follows the one before is more of the same secret.
        if (at > done || done === 0) clean += text.slice(done, at) + mark;
        done = Math.max(done, end);
      }
    }
    return clean + text.slice(done);
  };
}

/** Unchanged, as in JSON, as in addresses, and in base64 after any other bytes, such as `user:` before a password. */
function spellings(secret: string): readonly string[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const bytes = Buffer.from('\0'.repeat(before) + secret);
    // What holds bits of other bytes could be any character.
    return bytes.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
  });
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    ...inBase64,
  ];
}

/** In any case, and in either alphabet of base64; as long as before. */
function fold(text: string): string {
  return text
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .replaceAll('-', '+')
    .replaceAll('_', '/');
}

/** By their length: what must not stand anywhere. */
function runsOf(spelled: readonly string[]): ReadonlyMap<number, ReadonlySet<string>> {
  const runs = new Map<number, Set<string>>();
  const add = (run: string): void => {
    const alike = runs.get(run.length) ?? new Set();
    runs.set(run.length, alike.add(run));
  };
  for (const text of spelled) {
    if (text.length <= runLength) add(text);
    else add(text.slice(-lengthMin));
    for (let at = 0; at + runLength <= text.length; at++) add(text.slice(at, at + runLength));
  }
  return runs;
}

function endOfRun(
  text: string,
  at: number,
  runs: ReadonlyMap<number, ReadonlySet<string>>,
): number | undefined {
  let end: number | undefined;
  for (const [length, alike] of runs) {
    if (at + length > (end ?? at) && alike.has(text.slice(at, at + length))) end = at + length;
  }
  return end;
}

/** Long texts are cut, perhaps in the midst of a secret. */
function cutBeginning(text: string, spelled: readonly string[]): number | undefined {
  for (let length = runLength - 1; length >= lengthMin; length--) {
    if (spelled.some((secret) => text.endsWith(secret.slice(0, length)))) return text.length - length;
  }
  return undefined;
}
