// What did one caller ask, what did it get, and what did it cost? One entry of the wall's log.

import type { Behaviour } from './behaviour.ts';
import type { Received } from './read-request.ts';
import type { Said } from './voice.ts';

/** How the wall's part of a call ended. `complete`: the message was sent to its end, be it an answer or an error. */
export type CallEnd = 'complete' | 'fin' | 'reset' | 'client-closed' | 'wall-closed';

export interface Call extends Received {
  /** From 1, in the order of arrival. */
  number: number;
  /** From 1: which connection carried it, and whether another call came before it there. */
  connection: number;
  isConnectionReused: boolean;
  /** Undefined for a path the wall does not speak. */
  voice: string | undefined;
  behaviour: Behaviour | undefined;
  /** Monotonic time of arrival, as of `performance.now()`. */
  startedAtMs: number;
  endedAtMs: number | undefined;
  /** Bytes taken by the kernel, all in all and of the body without framing. */
  bytesWritten: number;
  bodyBytesWritten: number;
  /** SSE events written whole. */
  eventsWritten: number;
  end: CallEnd | undefined;
  finished: Promise<CallEnd>;
  /** Settled when the caller closes its side of the connection, during this call or later; never if the wall does. */
  clientClosed: Promise<'fin' | 'reset'>;
  tokens: CallTokens;
}

/** What the provider counts for a call: the whole usage, or what it had generated when the answer broke off. */
export interface CallTokens {
  inputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** Whether the caller was reported, in bytes that left the wall. */
  isReported: boolean;
}

export interface WallTotals {
  calls: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

export const noTokens: CallTokens = {
  ...{ inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  isReported: false,
};

/** The count of a call of which at least one byte has left; `generatedTokens` are those that left the wall. */
export function countCall(
  said: Said | undefined,
  progress: { isWhole: boolean; isReported: boolean; generatedTokens: number },
): CallTokens {
  if (said === undefined) return noTokens;
  const { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens } = said.usage;
  const isSettled = progress.isWhole || progress.isReported;
  return {
    inputTokens,
    cachedTokens,
    cacheWriteTokens,
    outputTokens: isSettled ? outputTokens : Math.min(progress.generatedTokens, outputTokens),
    // Which of those that have left were of reasoning, nobody has counted.
    reasoningTokens: isSettled ? reasoningTokens : 0,
    isReported: progress.isReported,
  };
}

export function sumCalls(calls: readonly Call[]): WallTotals {
  const totals = { calls: calls.length, inputTokens: 0, cachedTokens: 0, outputTokens: 0 };
  for (const { tokens } of calls) {
    totals.inputTokens += tokens.inputTokens;
    totals.cachedTokens += tokens.cachedTokens;
    totals.outputTokens += tokens.outputTokens;
  }
  return totals;
}
