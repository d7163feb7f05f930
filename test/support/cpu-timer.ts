// How long has this thread worked? A machine that is busy with other things makes a calculation wait, and no longer.

/** @returns The milliseconds of a core that this thread has used since, at any time. */
export function startCpuTimer(): () => number {
  const before = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
}
