// How is a text brought down to a bound without breaking a character?

/** At most so many UTF-16 units, the last one `…` where something was cut. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${wholeCharacters(text.slice(0, charsMax - 1))}…`;
}

/** At most so many bytes of UTF-8, ending in `…` where something was cut. */
export function cutBytes(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  let cut = wholeCharacters(text.slice(0, bytesMax - 3));
  while (Buffer.byteLength(cut) > bytesMax - 3) cut = wholeCharacters(cut.slice(0, -1));
  return `${cut}…`;
}

/** Without half a surrogate pair at the end. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}
