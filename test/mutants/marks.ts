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

/** @throws unless the code has the mark once, and its line the text that is replaced once. */
export function toMutant({ mark, name, from, to, tests }: Guard, marked: readonly MarkedLine[]): Mutant {
  const found = marked.filter((line) => line.mark === mark);
  const [line] = found;
  if (line === undefined || found.length > 1)
    throw new Error(`"// guard: ${mark}" must be in the code once. It is there ${found.length} times.`);
  const parts = line.code.split(from ?? line.code);
  if (parts.length !== 2)
    throw new Error(`${line.file}: the line of guard ${mark} must have this text once: ${from}`);
  return { name: `${mark}: ${name}`, file: line.file, from: line.text, to: parts.join(to), tests };
}

/** The marked lines of all processes. */
export function findMarks(): MarkedLine[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .flatMap((path) => readMarks(join(folder, path), readFileSync(join(root, folder, path), 'utf8'))),
  );
}
