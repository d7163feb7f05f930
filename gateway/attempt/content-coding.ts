// Which codings does a `content-encoding` header name? Servers that do not compress write several words for it.

/**
 * No coding at all: `none` is how frameworks keep a proxy from compressing a stream (Next.js, "Streaming"), and a
 * charset is written by those that confuse the two.
 */
const noCodings: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8']);

/** In the order in which they were applied, in lower case (RFC 9110, section 8.4.1); empty if the body is as it is. */
export function codingsOf(encoding: string | undefined): readonly string[] {
  if (encoding === undefined) return [];
  const names = encoding.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => !noCodings.has(name));
}
