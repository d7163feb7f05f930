// Busy time of the cores, over all processes, from /proc/stat in clock ticks.

import { readFileSync } from 'node:fs';

type CoreTicks = ReadonlyMap<number, { busy: number; total: number }>;

export function readCoreTicks(stat: string = readFileSync('/proc/stat', 'utf8')): CoreTicks {
  const ticks = new Map<number, { busy: number; total: number }>();
  for (const [, core, fields] of stat.matchAll(/^cpu(\d+) (.*)$/gm)) {
    // user nice system idle iowait irq softirq steal; guest time, behind them, is already in user and nice.
    const values = (fields ?? '').trim().split(/\s+/).slice(0, 8).map(Number);
    const total = values.reduce((sum, value) => sum + value, 0);
    const idle = (values[3] ?? 0) + (values[4] ?? 0);
    ticks.set(Number(core), { busy: total - idle, total });
  }
  return ticks;
}

/** Share of the time between two readings in which the core was busy, 0 to 1. */
export function coreBusy(before: CoreTicks, after: CoreTicks, core: number): number {
  const [from, to] = [before.get(core), after.get(core)];
  if (!from || !to || to.total === from.total) return 0;
  return (to.busy - from.busy) / (to.total - from.total);
}
