// Do the records of a gateway come to what its providers have counted?

import { expect } from 'vitest';
import type { Rig } from '../gateway/rig.ts';
import type { Wall } from '../support/wall.ts';

export interface TokenSums {
  /** Of attempts whose provider gave all of its counts: by the records, and by the providers' own logs. */
  readonly recorded: Tokens;
  readonly provided: Tokens;
  readonly counted: number;
  /** Attempts of which the gateway had to estimate something; they are in neither sum. */
  readonly estimated: number;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

const none: Tokens = { input: 0, cached: 0, output: 0 };

/** @param walls By the name of their target. @throws where they differ. */
export function expectSameTokens(
  { records }: Pick<Rig, 'records'>,
  walls: Readonly<Record<string, Wall | undefined>>,
): TokenSums {
  const seen = new Map<string, number>();
  let sums: TokenSums = { recorded: none, provided: none, counted: 0, estimated: 0 };
  for (const { target, outcome, isEstimated, usage } of records) {
    const at = seen.get(target) ?? 0;
    seen.set(target, at + 1);
    // One record a call, in the order of the calls; one that no connection came about for has none.
    const tokens = walls[target]?.calls[at]?.tokens;
    const isTold = tokens?.isReported === true;
    if (outcome === 'answered') expect(isEstimated, `answered, told: ${isTold}`).toBe(!isTold);
    if (!tokens || !isTold || isEstimated) {
      sums = { ...sums, estimated: sums.estimated + (isEstimated ? 1 : 0) };
      continue;
    }
    const { inputTokens, cachedTokens, outputTokens } = tokens;
    sums = {
      ...sums,
      counted: sums.counted + 1,
      recorded: add(sums.recorded, { input: usage.input, cached: usage.cachedInput, output: usage.output }),
      provided: add(sums.provided, { input: inputTokens, cached: cachedTokens, output: outputTokens }),
    };
  }
  expect(sums.recorded).toEqual(sums.provided);
  return sums;
}

export function addSums(a: TokenSums, b: TokenSums): TokenSums {
  return {
    recorded: add(a.recorded, b.recorded),
    provided: add(a.provided, b.provided),
    counted: a.counted + b.counted,
    estimated: a.estimated + b.estimated,
  };
}

export const noSums: TokenSums = { recorded: none, provided: none, counted: 0, estimated: 0 };

function add(a: Tokens, b: Tokens): Tokens {
  return { input: a.input + b.input, cached: a.cached + b.cached, output: a.output + b.output };
}
