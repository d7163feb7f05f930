// Do the records of a gateway come to what its providers have counted?

import { expect } from 'vitest';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Rig } from '../gateway/rig.ts';
import type { CallTokens, Wall } from '../support/wall.ts';

export interface TokenSums {
  /** Of attempts whose provider gave all of its counts: by the records, and by the providers' own logs. */
  readonly recorded: Tokens;
  readonly provided: Tokens;
  readonly counted: number;
  /** Attempts of which the gateway had to estimate something; they are in neither sum. */
  readonly estimated: number;
}

/** `input` includes the two that follow it, `output` those of reasoning. */
export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

export const tokenKinds = ['input', 'cached', 'cacheWrite', 'output', 'reasoning'] as const;

export const noTokens: Tokens = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };

export function recordedTokens({ usage }: Pick<LedgerRecord, 'usage'>): Tokens {
  const { input, cachedInput, cacheWrite, output, reasoning } = usage;
  return { input, cached: cachedInput, cacheWrite, output, reasoning };
}

export function providedTokens(tokens: CallTokens): Tokens {
  return {
    input: tokens.inputTokens,
    cached: tokens.cachedTokens,
    cacheWrite: tokens.cacheWriteTokens,
    output: tokens.outputTokens,
    reasoning: tokens.reasoningTokens,
  };
}

/** @param walls By the name of their target. @throws where they differ. */
export function expectSameTokens(
  { records }: Pick<Rig, 'records'>,
  walls: Readonly<Record<string, Wall | undefined>>,
): TokenSums {
  const seen = new Map<string, number>();
  let sums = noSums;
  for (const record of records) {
    const { target, outcome, isEstimated } = record;
    const at = seen.get(target) ?? 0;
    seen.set(target, at + 1);
    // One record a call, in the order of the calls; one that no connection came about for has none.
    const tokens = walls[target]?.calls[at]?.tokens;
    const isTold = tokens?.isReported === true;
    if (outcome === 'answered') expect(isEstimated, `answered, reported: ${isTold}`).toBe(!isTold);
    if (!tokens || !isTold || isEstimated) {
      sums = { ...sums, estimated: sums.estimated + (isEstimated ? 1 : 0) };
      continue;
    }
    const [recorded, provided] = [recordedTokens(record), providedTokens(tokens)];
    sums = addSums(sums, { recorded, provided, counted: 1, estimated: 0 });
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

export const noSums: TokenSums = { recorded: noTokens, provided: noTokens, counted: 0, estimated: 0 };

function add(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
  };
}
