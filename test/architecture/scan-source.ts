// What does one source file import, and which words does it use as code? A small scanner: comments, strings, templates and
// regular expressions are distinguished, so that a path in a comment is no import and `process.env` in a sentence no access.
// It reads import clauses, not the whole language; what it cannot read it refuses loudly instead of passing over it.

export interface Import {
  /** As written: `./plan.ts`, `node:net`, `zod`. `undefined`: computed at run time. */
  readonly specifier: string | undefined;
  readonly line: number;
}

export interface Token {
  readonly kind: 'word' | 'mark' | 'string' | 'template' | 'regex';
  /** Of a string: what is between the quotes. */
  readonly text: string;
  readonly line: number;
}

export interface ScannedSource {
  readonly imports: readonly Import[];
  readonly tokens: readonly Token[];
}

/** @throws Error with `path:line` for text that does not end what it begins. */
export function scanSource(path: string, text: string): ScannedSource {
  const tokens = readTokens(path, text);
  return { tokens, imports: readImports(tokens) };
}

const word = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const number = /\.?\d[\w.]*/y;
const space = /\s+/y;
const lineComment = /\/\/[^\n]*/y;
const blockComment = /\/\*[\s\S]*?\*\//y;
const quoted = /'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*"/y;
const regex = /\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const templateText = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

// After one of these a slash begins a regular expression; after any other word, a name, it divides.
const wordsBeforeRegex = new Set(
  'return typeof case in of delete void throw new else do instanceof await yield'.split(' '),
);

function readTokens(path: string, text: string): Token[] {
  const tokens: Token[] = [];
  // One entry for each open brace: does it close a `${` of a template?
  const braces: boolean[] = [];
  let at = 0;
  let line = 1;

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined || found === '') return undefined;
    at += found.length;
    line += found.split('\n').length - 1;
    return found;
  }

  function push(kind: Token['kind'], value: string, startLine: number): void {
    tokens.push({ kind, text: value, line: startLine });
  }

  function takeTemplate(startLine: number): void {
    push('template', take(templateText) ?? '', startLine);
    if (text.startsWith('${', at)) {
      at += 2;
      braces.push(true);
    } else if (text[at] === '`') at += 1;
    else throw new Error(`${path}:${startLine}: a template that does not end`);
  }

  while (at < text.length) {
    const startLine = line;
    if ((take(space) ?? take(lineComment) ?? take(blockComment)) !== undefined) continue;
    const string = take(quoted);
    if (string !== undefined) {
      push('string', string.slice(1, -1), startLine);
      continue;
    }
    const name = take(word);
    if (name !== undefined) {
      push('word', name, startLine);
      continue;
    }
    const digits = take(number);
    if (digits !== undefined) {
      push('mark', '0', startLine);
      continue;
    }
    const pattern = mayBeginRegex(tokens.at(-1)) ? take(regex) : undefined;
    if (pattern !== undefined) {
      push('regex', pattern, startLine);
      continue;
    }
    const mark = text[at] ?? '';
    at += 1;
    if (mark === '`') takeTemplate(startLine);
    else if (mark === "'" || mark === '"')
      throw new Error(`${path}:${startLine}: a string that does not end`);
    else if (mark === '{') {
      braces.push(false);
      push('mark', mark, startLine);
    } else if (mark === '}' && braces.pop() === true) takeTemplate(startLine);
    else push('mark', mark, startLine);
  }
  if (braces.length > 0) throw new Error(`${path}: ${braces.length} braces that do not close`);
  return tokens;
}

function mayBeginRegex(before: Token | undefined): boolean {
  if (before === undefined) return true;
  if (before.kind === 'word') return wordsBeforeRegex.has(before.text);
  return before.kind === 'mark' && ![')', ']', '}', '0'].includes(before.text);
}

function readImports(tokens: readonly Token[]): Import[] {
  const imports: Import[] = [];
  const textAt = (index: number) => (tokens[index]?.kind === 'string' ? undefined : tokens[index]?.text);
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== 'word' || textAt(index - 1) === '.') continue;
    const next = tokens[index + 1];
    if ((token.text === 'import' || token.text === 'require') && textAt(index + 1) === '(') {
      const argument = tokens[index + 2];
      const isWhole = textAt(index + 3) === ')' || textAt(index + 3) === ',';
      const isConstant = isWhole && argument !== undefined && ['string', 'template'].includes(argument.kind);
      imports.push({ specifier: isConstant ? argument.text : undefined, line: token.line });
    } else if (token.text === 'import' && next?.kind === 'string') {
      imports.push({ specifier: next.text, line: token.line });
    } else if (token.text === 'import' || token.text === 'export') {
      const specifier = readFromClause(tokens, index + 1);
      if (specifier !== undefined) imports.push({ specifier, line: token.line });
    }
  }
  return imports;
}

/** `{ a, type B } from 'x'`, `* as y from 'x'`, `z, { a } from 'x'`, each perhaps behind `type`: the `'x'`. */
function readFromClause(tokens: readonly Token[], start: number): string | undefined {
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token?.kind === 'string') {
      const before = tokens[index - 1];
      if (before?.kind === 'word' && before.text === 'from') return token.text;
      // `import { 'odd name' as a } from 'x'` goes on; anything else that holds a string was no clause.
      if (tokens[index + 1]?.text !== 'as') return undefined;
    } else if (
      token?.kind === 'word' ||
      (token?.kind === 'mark' && ['{', '}', ',', '*'].includes(token.text))
    ) {
      // `export const a = …`, `export function`, `export default`: a declaration, not a clause.
      if (index === start && declarationWords.has(token.text)) return undefined;
    } else return undefined;
  }
  return undefined;
}

const declarationWords = new Set(
  'const let var function async class abstract interface enum namespace declare default'.split(' '),
);
