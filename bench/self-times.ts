// Which functions used the CPU themselves? A V8 CPU profile in, self times out, largest first.

export type CpuProfile = {
  nodes: readonly {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  /** Node ids, one per sample. */
  samples: readonly number[];
  /** Microseconds before each sample. */
  timeDeltas: readonly number[];
};

export type SelfTime = { name: string; ms: number; share: number };

/**
 * Self time by function over the last `busySeconds` of busy time; idle samples are left out, so waiting for the load to
 * begin or for a drain to end moves nothing. `share` is of the busy time counted.
 */
export function selfTimes(profile: CpuProfile, busySeconds: number): SelfTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node.callFrame)]));
  const microseconds = new Map<string, number>();
  let total = 0;
  for (let i = profile.samples.length - 1; i >= 0 && total < busySeconds * 1e6; i--) {
    const name = names.get(profile.samples[i] ?? -1) ?? '(unknown)';
    const delta = profile.timeDeltas[i] ?? 0;
    if (name === '(idle)' || delta <= 0) continue;
    microseconds.set(name, (microseconds.get(name) ?? 0) + delta);
    total += delta;
  }
  return [...microseconds]
    .map(([name, us]) => ({ name, ms: us / 1000, share: us / total }))
    .sort((a, b) => b.ms - a.ms);
}

function nameOf(frame: CpuProfile['nodes'][number]['callFrame']): string {
  const name = frame.functionName || '(anonymous)';
  if (frame.url === '') return name;
  const place = frame.url.split('/').slice(-3).join('/');
  return `${name}  ${place}:${frame.lineNumber + 1}`;
}
