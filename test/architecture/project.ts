// Which source files are there? All of the project's, by their path from its root, scanned once.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Import, type ScannedSource, scanSource, type Token } from './scan-source.ts';

export interface Source {
  readonly path: string;
  readonly imports: readonly Import[];
  readonly tokens: readonly Token[];
  readonly text: string;
}

export interface Project {
  /** TypeScript, by path from the root with forward slashes. */
  readonly sources: ReadonlyMap<string, Source>;
  /** Every other text file, for rules about words. */
  readonly texts: ReadonlyMap<string, string>;
  has(path: string): boolean;
  readonly packageJson: {
    readonly dependencies: readonly string[];
    readonly devDependencies: readonly string[];
  };
}

export const root = fileURLToPath(new URL('../../', import.meta.url));

const foldersLeftOut = new Set(['node_modules', 'dist', 'coverage']);
const textEndings = [
  '.md',
  '.json',
  '.yaml',
  '.yml',
  '.tpl',
  '.txt',
  '.sh',
  '.js',
  '.css',
  '.html',
  'Dockerfile',
];

export function loadProject(): Project {
  const files = listFiles(root);
  const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');
  const isText = (path: string) => textEndings.some((ending) => path.endsWith(ending));
  const manifest: unknown = JSON.parse(read('package.json'));
  return {
    sources: new Map(files.filter(isSourcePath).map((path) => [path, buildSource(path, read(path))])),
    texts: new Map(files.filter(isText).map((path) => [path, read(path)])),
    has: (path) => existsSync(`${root}${path}`),
    packageJson: {
      dependencies: readNames(manifest, 'dependencies'),
      devDependencies: readNames(manifest, 'devDependencies'),
    },
  };
}

/** A project of a few lines, to prove that a rule can fail. */
export function buildProject(files: Readonly<Record<string, string>>): Project {
  const entries = Object.entries(files);
  const isSource = ([path]: [string, string]) => isSourcePath(path);
  return {
    sources: new Map(entries.filter(isSource).map(([path, text]) => [path, buildSource(path, text)])),
    texts: new Map(entries.filter((entry) => !isSource(entry))),
    has: (path) => path in files,
    packageJson: {
      dependencies: ['zod', 'fastify', 'undici', '@kubernetes/client-node'],
      devDependencies: ['vitest', 'esbuild'],
    },
  };
}

/** Where a relative import of this file points to, from the root; `undefined` for packages and node's own modules. */
export function targetOf(source: Source, specifier: string | undefined): string | undefined {
  if (specifier === undefined || !specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(source.path), specifier);
}

/** `@scope/name/sub/path` -> `@scope/name`; `undefined` for relative paths and node's own modules. */
export function packageOf(specifier: string | undefined): string | undefined {
  if (specifier === undefined || specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

const isSourcePath = (path: string): boolean => /\.tsx?$/.test(path);

function buildSource(path: string, text: string): Source {
  // Markup among the code is not ours to scan: of a view, only what it imports is known.
  const scanned: ScannedSource = path.endsWith('.tsx')
    ? { imports: importsOfView(text), tokens: [] }
    : scanSource(path, text);
  return { path, text, ...scanned };
}

/** The formatter begins each at a line of its own. */
function importsOfView(text: string): Import[] {
  return [...text.matchAll(/^(?:import|export)\s(?:[^'";]*?\sfrom\s)?'([^']+)';/gm)].map(
    ({ index, 1: specifier }) => ({ specifier, line: text.slice(0, index).split('\n').length }),
  );
}

function listFiles(folder: string): string[] {
  const paths: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || foldersLeftOut.has(entry.name)) continue;
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory()) paths.push(...listFiles(`${path}/`));
    else if (entry.isFile()) paths.push(relative(root, path).split(sep).join('/'));
  }
  return paths.sort();
}

function readNames(manifest: unknown, key: string): string[] {
  if (typeof manifest !== 'object' || manifest === null) return [];
  const group: unknown = Object.entries(manifest).find(([name]) => name === key)?.[1];
  return typeof group === 'object' && group !== null ? Object.keys(group) : [];
}
