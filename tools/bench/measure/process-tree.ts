// Which processes belong to a target? Itself and everything it started (proc(5)).

import { readdirSync, readFileSync } from 'node:fs';

/** The process and all its descendants alive now, the process first; empty when it is gone. */
export function processTree(rootPid: number): number[] {
  const childrenOf = new Map<number, number[]>();
  const alive = new Set<number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = readParent(pid);
    if (parent === undefined) continue;
    alive.add(pid);
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), pid]);
  }
  const tree = alive.has(rootPid) ? [rootPid] : [];
  for (const pid of tree) tree.push(...(childrenOf.get(pid) ?? []));
  return tree;
}

function readParent(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name is in parentheses and may contain spaces and parentheses: read after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(fields[1]);
  } catch {
    return undefined; // ended between listing and reading
  }
}
