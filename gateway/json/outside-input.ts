// Does a JSON body name input that it does not hold? A file that a provider keeps, or a document at a URL: the gateway cannot know their
// length. Pictures at a URL count like others. Pure.

/** Room for the longest name, what is around it, and the blanks of usual layouts. */
const jointLength = 128;

/**
 * By bytes, not parsed. Within a text all quotes are escaped, so that none of what is spoken of matches; an argument of a tool that has such
 * a name does.
 *
 * @param chunks A valid JSON text in any cut.
 * @param only The only one of them as a text, one character per byte, if it is at hand.
 */
export function namesOutsideInput(chunks: readonly Buffer[], only?: string): boolean {
  let before = '';
  let hasDocument = false;
  let hasAddress = false;
  for (const chunk of chunks) {
    const text = before + (only ?? chunk.toString('latin1'));
    before = text.slice(-jointLength);
    if (text.includes('\\u00') && escapedLetter.test(text)) return true;
    if (!names.test(text)) continue;
    hasDocument ||= document.test(text);
    hasAddress ||= address.test(text);
    if (outside.test(text) || (hasDocument && hasAddress)) return true;
  }
  return false;
}

/** An escaped ASCII letter. No encoder writes one; a client that does so hides a name. */
const escapedLetter = /[^\\](?:\\\\)*\\u00(?:4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;

/** Nearly every request has none of them, which is found out ten times as fast as the rest. */
const names = /(?:file_id|file_data|item_reference|audio|document|url)"/;

/** The same: json-scan.c looks for texts that end so. */
export const outsideNames = ['file_id', 'file_data', 'item_reference', 'audio', 'document', 'url'];

/** Of chat, messages and responses, and what others add to chat: files, sounds, films, and items that were put out before. */
const outside =
  /"(?:file_id|file_url)"\s*:\s*"|"(?:file_data|audio_url|video_url)"\s*:\s*(?:\{\s*"url"\s*:\s*)?"https?:|"audio"\s*:\s*\{\s*"id"|"type"\s*:\s*"item_reference"/;

/** In messages, one object holds the type of a source and another its address, in any order. */
const document = /"type"\s*:\s*"document"/;
const address = /"type"\s*:\s*"url"/;
