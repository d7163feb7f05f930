// How is JSON read that begins with a byte order mark? Without it: the mark is no part of the text (RFC 8259, section 8.1).

export function withoutByteOrderMark(body: Buffer): Buffer {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}
