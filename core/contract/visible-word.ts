// Can the text be sent in a header as one word? Visible ASCII, without spaces (RFC 9110, section 5.5).

export function isVisibleWord(text: unknown): text is string {
  return typeof text === 'string' && /^[!-~]+$/.test(text);
}
