// Where did the CPU go? A V8 CPU profile in; out come the functions that used it themselves, largest first, or the share of one part of the
// program with all that it calls.

import type { CpuProfile } from './cpu-profile.ts';

type Frame = CpuProfile['nodes'][number]['callFrame'];

export type SelfTime = { name: string; ms: number; share: number };

/**
 * Self time by function over the last `busySeconds` of busy time; idle samples are left out, so waiting for the load to
 * begin or for a drain to end moves nothing. `share` is of the busy time counted.
 */
export function selfTimes(
  profile: CpuProfile,
  busySeconds: number,
  nameOf: (frame: Frame) => string = functionOf,
): SelfTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node.callFrame)]));
  const microseconds = new Map<string, number>();
  let total = 0;
  for (const { id, us } of busySamples(profile, busySeconds)) {
    const name = names.get(id) ?? '(unknown)';
    microseconds.set(name, (microseconds.get(name) ?? 0) + us);
    total += us;
  }
  return [...microseconds]
    .map(([name, us]) => ({ name, ms: us / 1000, share: us / total }))
    .sort((a, b) => b.ms - a.ms);
}

/**
 * The share of the busy time that went into functions of one part, and into whatever they called.
 *
 * @param isPart by the address of a function's file, empty for what V8 does itself.
 */
export function shareOfPart(
  profile: CpuProfile,
  busySeconds: number,
  isPart: (url: string) => boolean,
): number {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const within = new Set(profile.nodes.filter(({ callFrame }) => isPart(callFrame.url)).map(({ id }) => id));
  // Nodes that are added during the loop are visited too.
  for (const id of within) for (const child of nodes.get(id)?.children ?? []) within.add(child);
  let part = 0;
  let total = 0;
  for (const { id, us } of busySamples(profile, busySeconds)) {
    if (within.has(id)) part += us;
    total += us;
  }
  return part / total;
}

/** The latest first. */
function* busySamples({ nodes, samples, timeDeltas }: CpuProfile, busySeconds: number) {
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id),
  );
  let total = 0;
  for (let at = samples.length - 1; at >= 0 && total < busySeconds * 1e6; at--) {
    const id = samples[at] ?? -1;
    const us = timeDeltas[at] ?? 0;
    if (idle.has(id) || us <= 0) continue;
    total += us;
    yield { id, us };
  }
}

/** One function, with its place. */
export function functionOf(frame: Frame): string {
  const name = frame.functionName || '(anonymous)';
  if (frame.url === '') return name;
  const place = frame.url.split('/').slice(-3).join('/');
  return `${name}  ${place}:${frame.lineNumber + 1}`;
}

/** The part of the program that a function belongs to, for `selfTimes`: a folder of the gateway, a package, Node, or V8 and the kernel. */
export function partOf({ functionName, url }: Frame): string {
  const native = /^\((garbage collector|program)\)$|^writev$/.exec(functionName);
  if (url === '') return native ? functionName : 'other native functions';
  if (url.startsWith('node:')) return 'node';
  if (url.startsWith('wasm:')) return 'WebAssembly';
  const dependency = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (dependency !== undefined) return dependency;
  const path = url.split('/');
  const root = path.findLastIndex((segment) => segment === 'gateway' || segment === 'core');
  return root === -1 ? 'elsewhere' : path.slice(root, root + 2).join('/');
}
