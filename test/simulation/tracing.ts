// What happened in one run? All of it, line by line.

import { type Fault, type Outcome, simulate } from './run.ts';

export interface Traced {
  readonly outcome: Outcome;
  /** Each with the virtual time, in seconds. */
  readonly lines: readonly string[];
}

/** Against a hang, no more. */
export const timeoutMs = 1_800_000;

export async function traced(seed: number, fault?: Fault): Promise<Traced> {
  const lines: string[] = [];
  const outcome = await simulate(
    seed,
    (atMs, what) => void lines.push(`${(atMs / 1_000).toFixed(3)} ${what}`),
    fault,
  );
  return { outcome, lines };
}
