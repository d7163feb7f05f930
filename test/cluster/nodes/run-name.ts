// Whose is this folder or cgroup? Everything of a run on the machine carries the run's name, and the name says which process made
// it: what belongs to a process that has ended is a leftover.

import { randomBytes } from 'node:crypto';
import { startOf } from './processes.ts';

const pattern = /^penstock-nodes-(\d+)-(\d+)-[0-9a-f]+$/;

export function makeRunName(): string {
  return `penstock-nodes-${process.pid}-${startOf(process.pid)}-${randomBytes(3).toString('hex')}`;
}

/** False for names that are nobody's of ours. */
export function isLeftover(name: string): boolean {
  const [, pid, start] = pattern.exec(name) ?? [];
  return pid !== undefined && start !== undefined && startOf(Number(pid)) !== start;
}
