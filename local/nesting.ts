// Does a file nest deeper than anybody writes? The reader of YAML holds every open level in memory and goes
// down one call for each, so a file of nothing but `[` would fill the memory before it is found wrong.

import { Lexer, Parser } from 'yaml';

/** Lists and maps in one another, and the document around them. An object of ours has about ten. */
export const nestingMax = 100;

/** The line in which a text goes deeper than `nestingMax`; what stands behind that is not looked at. */
export function findDeepLine(text: string): number | undefined {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    // It moves on as what it gives is taken.
    Array.from(parser.next(lexeme));
    if (parser.stack.length > nestingMax) return text.slice(0, parser.offset).split('\n').length;
  }
  return undefined;
}
