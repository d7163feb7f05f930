// What does a source file of ours load when it runs? Types are left out: they load nothing.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface LoadedModule {
  /** A path for a file of ours, else the name of a package or a module of Node. */
  readonly module: string;
  /** Left out where the whole module is imported. */
  readonly names?: readonly string[];
}

const statement = /^(?:import|export)\s+(?!type\s)(?:([^'";]*?)\sfrom\s)?'([^']+)'/gm;
const call = /\bimport\(\s*'([^']+)'/g;

/** The formatter begins each import at a line of its own. */
export function importsOf(file: string): LoadedModule[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  const resolved = (specifier: string) =>
    specifier.startsWith('.') ? resolve(dirname(file), specifier) : specifier;
  return [
    ...[...text.matchAll(statement)].flatMap(([, clause = '', specifier = '']) => {
      const module = resolved(specifier);
      const list = /^\{([^}]*)\}$/.exec(clause.trim())?.[1];
      if (list === undefined) return [{ module }];
      const names = list
        .split(',')
        .map((name) => name.trim().replace(/ as .*/, ''))
        .filter((name) => name !== '' && !name.startsWith('type '));
      return names.length === 0 ? [] : [{ module, names }];
    }),
    ...[...text.matchAll(call)].map(([, specifier = '']) => ({ module: resolved(specifier) })),
  ];
}
