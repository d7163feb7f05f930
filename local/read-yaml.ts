// Which documents are in a text of YAML? Parsing takes time in proportion to the length and to nothing else. A text longer or deeper
// than any manifest is refused before it is parsed, because parsing blocks all requests.

import {
  Composer,
  CST,
  type Document,
  type DocumentOptions,
  isScalar,
  Lexer,
  LineCounter,
  type ParseOptions,
  Parser,
  type SchemaOptions,
  visit,
  YAMLParseError,
} from 'yaml';

/** Lists and maps in one another, and the document around them. An object of ours has about ten. */
const nestingMax = 100;
/** Of names, values, marks and line ends: about 25,000 lines, which are read in less than a second. */
const piecesMax = 100_000;
/** Each is looked for among all anchors. */
const aliasesMax = 1_000;

interface YamlText {
  readonly documents: readonly Document.Parsed[];
  readonly lines: LineCounter;
}

/** Too long or too deep: nothing of it was read. */
interface YamlExcess {
  readonly excess: string;
  readonly line: number;
}

/** How everything here is read: kubectl knows merge keys (`<<: *defaults`), which YAML 1.2 has dropped. */
export const READING = {
  merge: true,
  // The parser compares each key with all keys before it: 40,000 keys take half a minute. `readYaml` looks for repeated keys itself.
  uniqueKeys: false,
  // Each excerpt costs as much as its line is long, and an excerpt could be part of a secret.
  prettyErrors: false,
} satisfies ParseOptions & DocumentOptions & SchemaOptions;

export function readYaml(text: string, options: SchemaOptions = {}): YamlText | YamlExcess {
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  let pieces = 0;
  let aliases = 0;
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    const type = CST.tokenType(lexeme);
    if (!uncounted.has(type)) pieces += 1;
    if (type === 'alias') aliases += 1;
    const excess = excessOf(parser.stack.length, pieces, aliases);
    if (excess !== undefined) return { excess, line: lines.linePos(parser.offset).line };
  }
  tokens.push(...parser.end());
  const documents = [...new Composer({ ...READING, ...options }).compose(tokens)];
  for (const document of documents) refuseRepeatedKeys(document);
  return { documents, lines };
}

function excessOf(nesting: number, pieces: number, aliases: number): string | undefined {
  if (nesting > nestingMax) return `nested more than ${nestingMax} levels deep and was not read; flatten it`;
  if (pieces > piecesMax)
    return `holds more than ${piecesMax} names, values, marks and line ends and was not read; split it into several files`;
  if (aliases > aliasesMax)
    return `uses anchors more than ${aliasesMax} times and was not read; replace them by their content`;
  return undefined;
}

/** Also the marks that the lexer puts before a value and a document: they are no part of the text. */
const uncounted: ReadonlySet<string | null> = new Set(['space', 'scalar', 'doc-mode', 'flow-error-end']);

function refuseRepeatedKeys({ contents, errors }: Document.Parsed): void {
  visit(contents, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value) && key.range)
          errors.push(
            new YAMLParseError([key.range[0], key.range[1]], 'DUPLICATE_KEY', 'Map keys must be unique'),
          );
        seen.add(key.value);
      }
    },
  });
}
