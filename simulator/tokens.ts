// How is text cut into tokens? One documented rule, so that every count in a test can be worked out by hand.
//
// A token is up to four characters (Unicode code points) of one word, together with one white-space character in
// front of it if there is one; further white space counts one token a character. "Hello, world" is
// ["Hell", "o,", " worl", "d"]. Joining the tokens of a text gives the text back, byte for byte.

const tokenPattern = /\s?\S{1,4}|\s/gu;

/** The tokens of a text, in order; their concatenation is the text. */
export function tokenise(text: string): string[] {
  return text.match(tokenPattern) ?? [];
}

/** How many tokens a text has: `tokenise(text).length`, without keeping them. */
export function countTokens(text: string): number {
  let count = 0;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.test(text)) count += 1;
  return count;
}
