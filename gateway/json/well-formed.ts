// Which halves of a surrogate pair stand alone? They are no characters: upstreams refuse a body with one, and clients cannot
// encode it. Each becomes U+FFFD, as `toWellFormed` does; JSON text may hold them as escapes too.

interface Mended {
  readonly text: string;
  /** Its end, where what follows decides: half a pair, or half an escape. */
  readonly rest: string;
}

/** A piece of a text, from a place where nothing is open. */
export function mendText(text: string): Mended {
  const isOpen = isHigh(text.charCodeAt(text.length - 1));
  return isOpen
    ? { text: text.slice(0, -1).toWellFormed(), rest: text.slice(-1) }
    : { text: text.toWellFormed(), rest: '' };
}

/** A piece of JSON text. */
export function mendJson(json: string): Mended {
  const { text, rest } = mendText(json);
  if (!text.includes('\\')) return { text, rest };
  let mended = '';
  let copied = 0;
  for (let slash = text.indexOf('\\'), next = 0; slash !== -1; slash = text.indexOf('\\', next)) {
    const code = escapedCode(text, slash);
    if (code === undefined)
      return { text: mended + text.slice(copied, slash), rest: text.slice(slash) + rest };
    next = slash + (code === 'other' ? 2 : 6);
    if (code === 'other' || !isHalf(code)) continue;
    const follower = isHigh(code) ? followerOf(text, next) : 'other';
    if (follower === undefined) {
      return { text: mended + text.slice(copied, slash), rest: text.slice(slash) + rest };
    }
    if (follower !== 'other' && isHalf(follower) && !isHigh(follower)) next += 6;
    else {
      mended += `${text.slice(copied, slash)}\ufffd`;
      copied = next;
    }
  }
  return { text: mended + text.slice(copied), rest };
}

/** A whole JSON text. */
export function wellFormedJson(json: string): string {
  const { text, rest } = mendJson(json);
  return rest === '' ? text : text + endOfJson(rest);
}

/** The result for a remaining piece at the end of the text. */
export function endOfJson(rest: string): string {
  return rest.toWellFormed().replace(/^\\u[dD][89a-fA-F][0-9a-fA-F]{2}/, '\ufffd');
}

/** The code of the escaped character at this place; undefined if the escape is incomplete. */
function escapedCode(text: string, slash: number): number | 'other' | undefined {
  if (slash + 1 >= text.length) return undefined;
  if (text[slash + 1] !== 'u') return 'other';
  if (slash + 6 > text.length) return undefined;
  const code = Number.parseInt(text.slice(slash + 2, slash + 6), 16);
  return Number.isNaN(code) ? 'other' : code;
}

function followerOf(text: string, at: number): number | 'other' | undefined {
  if (at === text.length) return undefined;
  return text[at] === '\\' ? escapedCode(text, at) : 'other';
}

function isHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
