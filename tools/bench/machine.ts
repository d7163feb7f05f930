// On what did this run? A figure without its machine says nothing.

import { cpus, release, totalmem, type } from 'node:os';
import { programVersion } from './targets/versions.ts';

export type Machine = {
  cpu: string;
  cores: number;
  memoryGib: number;
  kernel: string;
  node: string;
  compiler: string;
  commit: string;
};

export async function readMachine(): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    node: process.version,
    compiler: (await programVersion('gcc', ['--version'])) ?? 'unknown',
    commit:
      (await programVersion('git', ['-C', import.meta.dirname, 'describe', '--always', '--dirty'])) ??
      'unknown',
  };
}
