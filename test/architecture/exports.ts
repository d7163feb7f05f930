// Which exports of the product does nobody import?

import { type Project, type Source, targetOf } from './project.ts';
import { scanSource, type Token } from './scan-source.ts';

const modifiers = new Set(['async', 'abstract', 'declare', '*']);
const declarations = new Set(['const', 'let', 'function', 'class', 'interface', 'type', 'enum']);

/** One line for each: `path:line name`. @param isProduct files whose exports are looked at; every file may import them. */
export function findUnusedExports(project: Project, isProduct: (path: string) => boolean): string[] {
  const used = new Set([...project.sources.values()].flatMap(namesTaken));
  return [...project.sources.values()]
    .filter(({ path }) => isProduct(path) && !used.has(`${path} *`))
    .flatMap((source) =>
      namesGiven(source)
        .filter(({ text }) => !used.has(`${source.path} ${text}`))
        .map(({ text, line }) => `${source.path}:${line} ${text}`),
    );
}

/** The name of every declaration that is exported. */
function namesGiven({ tokens }: Source): Token[] {
  return tokens.flatMap((token, index) => {
    if (!isWord(token, 'export')) return [];
    const [first, ...rest] = tokens.slice(index + 1, index + 6).filter(({ text }) => !modifiers.has(text));
    const name = first !== undefined && declarations.has(first.text) ? rest[0] : undefined;
    return name?.kind === 'word' ? [name] : [];
  });
}

/** `path name` for every name that an import or a re-export takes from another file; `path *` for a file as a whole. */
function namesTaken(source: Source): string[] {
  const tokens = source.path.endsWith('.tsx') ? clausesOfView(source) : source.tokens;
  return tokens.flatMap((token, index) => {
    if (token.kind !== 'string') return [];
    const target = targetOf(source, token.text);
    if (target === undefined) return [];
    const before = tokens[index - 1];
    if (before?.text === '(') return [`${target} *`];
    if (!isWord(before, 'from')) return [];
    const clause = clauseBefore(tokens, index - 1);
    if (clause.some(({ text }) => text === '*')) return [`${target} *`];
    return clause
      .filter(({ kind }, at) => kind === 'word' && !isWord(clause[at - 1], 'as'))
      .map(({ text }) => `${target} ${text}`);
  });
}

/** A view is not scanned as a whole. */
function clausesOfView({ path, text }: Source): readonly Token[] {
  const clauses = text.match(/^(?:import|export)\s[^'";]*?\sfrom\s'[^']+';|\bimport\('[^']+'\)/gm) ?? [];
  return scanSource(path, clauses.join('\n')).tokens;
}

/** Back to its `import` or `export`. */
function clauseBefore(tokens: readonly Token[], end: number): readonly Token[] {
  let start = end;
  while (start > 0 && !isWord(tokens[start], 'import') && !isWord(tokens[start], 'export')) start -= 1;
  return tokens.slice(start + 1, end);
}

function isWord(token: Token | undefined, text: string): boolean {
  return token?.kind === 'word' && token.text === text;
}
