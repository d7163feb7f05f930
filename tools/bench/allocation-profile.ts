// What did the sampler of allocations leave of a process that was started with it?

import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const callFrame = z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() });
type CallFrame = z.infer<typeof callFrame>;

interface Node {
  readonly callFrame: CallFrame;
  /** Bytes that the function allocated itself. */
  readonly selfSize: number;
  readonly children: readonly Node[];
}

const node: z.ZodType<Node> = z.object({
  callFrame,
  selfSize: z.number(),
  children: z.lazy(() => z.array(node)),
});

const sampler = new URL('sample-allocations.ts', import.meta.url);

/** For a Node process that writes what it allocated from SIGWINCH on into `file` when it exits in order. */
export function allocationFlags(file: string): readonly string[] {
  const url = new URL(sampler);
  url.searchParams.set('to', file);
  return [`--import=${url}`];
}

export interface SelfBytes {
  readonly name: string;
  readonly bytes: number;
  readonly share: number;
}

export async function readAllocations(file: string): Promise<Node> {
  return z.object({ head: node }).parse(JSON.parse(await readFile(file, 'utf8'))).head;
}

/** Bytes by the function that allocated them, or by what `nameOf` says of it; the largest first. */
export function selfBytes(head: Node, nameOf: (frame: CallFrame) => string): SelfBytes[] {
  const sums = new Map<string, number>();
  let total = 0;
  const open = [head];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const name = nameOf(at.callFrame);
    sums.set(name, (sums.get(name) ?? 0) + at.selfSize);
    total += at.selfSize;
    open.push(...at.children);
  }
  return [...sums]
    .map(([name, bytes]) => ({ name, bytes, share: bytes / total }))
    .sort((a, b) => b.bytes - a.bytes);
}
