// Which line of the code does a guard mark, and what is that line without its safeguard?

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Guard } from './guards.ts';
import type { Mutant } from './mutant.ts';

const root = join(import.meta.dirname, '../..');
const folders = ['core', 'dashboard', 'gateway', 'ledger', 'local', 'operator'];

/** A line of code that has a mark. */
export interface MarkedLine {
  readonly mark: string;
  readonly file: string;
  /** As the file has it, with its mark. */
  readonly text: string;
  readonly code: string;
}

/** The lines of a file that have a mark. */
export function readMarks(file: string, source: string): MarkedLine[] {
  const lines = source.split('\n');
  return lines.flatMap((line, at) => {
    const [, code = '', mark] = /^(.*?)\s*\/\/ guard: ([a-z0-9-]+)$/.exec(line) ?? [];
    if (mark === undefined) return [];
    if (code !== '') return [{ mark, file, text: line, code }];
    const below = lines[at + 1] ?? '';
    return [{ mark, file, text: `${line}\n${below}`, code: below }];
  });
}

/** @throws unless the code has the mark once. */
export function toMutant({ mark, name, to, tests }: Guard, marked: readonly MarkedLine[]): Mutant {
  const found = marked.filter((line) => line.mark === mark);
  const [line] = found;
  if (line === undefined || found.length > 1)
    throw new Error(`"// guard: ${mark}" must be in the code once. It is there ${found.length} times.`);
  return { name: `${mark}: ${name}`, file: line.file, from: line.text, to, tests };
}

/** Names in the new line that its file does not have: with one of them it would fail, whatever the tests look at. */
export function unknownNames(to: string, source: string): string[] {
  const known = new Set(source.match(/[A-Za-z_$][\w$]*/g));
  // Members, which come behind a dot or before a colon, may be new.
  const names = to.replaceAll(/'[^']*'|"[^"]*"/g, '').match(/(?<![\w$.])[A-Za-z_$][\w$]*(?![\w$:])/g) ?? [];
  return names.filter((name) => !known.has(name) && !ofTheLanguage.has(name));
}

const ofTheLanguage = new Set(['Infinity', 'continue', 'null', 'process']);

/** The marked lines of all processes. */
export function findMarks(): MarkedLine[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .flatMap((path) => readMarks(join(folder, path), readFileSync(join(root, folder, path), 'utf8'))),
  );
}
