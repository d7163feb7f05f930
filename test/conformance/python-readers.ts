// What do programs written in Python take streams for? One process for each SDK reads many at once.

import { readFile } from 'node:fs/promises';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { testKey } from '../gateway/rig.ts';
import { pythonWith, runPython } from '../support/python.ts';
import type { Address, Reading, Way } from './stream-readers.ts';

export interface PythonSdk {
  readonly sdk: string;
  readonly pin: string;
  readonly reads: readonly (readonly [DialectName, Way])[];
}

const openAiReads = [
  ['openai-chat', 'iterating'],
  ['openai-chat', 'helper'],
  ['openai-completions', 'iterating'],
  ['openai-responses', 'iterating'],
  ['openai-responses', 'helper'],
] as const;
const anthropicReads = [
  ['anthropic-messages', 'iterating'],
  ['anthropic-messages', 'helper'],
] as const;

export const pythonSdks: readonly PythonSdk[] = [
  { sdk: 'openai 3 for Python', pin: 'openai==3.52.0', reads: openAiReads },
  { sdk: 'anthropic 2 for Python', pin: 'anthropic==2.12.0', reads: anthropicReads },
];

export const olderPythonSdks: readonly PythonSdk[] = [
  { sdk: 'anthropic 1 for Python', pin: 'anthropic==1.17.0', reads: anthropicReads },
];

/** Streams with numbers from `first` on; each number is in the prompt as `stream 000123`. */
export interface Errand {
  readonly dialect: DialectName;
  readonly way: Way;
  readonly model: string;
  readonly first: number;
  readonly count: number;
}

/** Reads them all; the readings by their numbers. */
export async function readInPython(
  { pin }: PythonSdk,
  { url, baseUrl }: Address,
  errands: readonly Errand[],
  options: { readonly atOnce: number; readonly timeoutMs: number },
): Promise<ReadonlyMap<number, Reading>> {
  const python = await pythonWith([pin]);
  const script = await readFile(new URL('python/stream_readers.py', import.meta.url), 'utf8');
  const args = [baseUrl, url, testKey, String(options.atOnce), JSON.stringify(errands)];
  const run = await runPython(python, script, { args, timeoutMs: options.timeoutMs });
  if (run.exitCode !== 0) throw new Error(`the readers of ${pin} stopped: ${run.stderr.slice(-2000)}`);
  const lines = run.stdout.trimEnd().split('\n');
  return new Map(
    lines.map((line) => {
      const [number, end, message, text]: [number, Reading['end'], string, string] = JSON.parse(line);
      return [number, { end, message, text }];
    }),
  );
}
