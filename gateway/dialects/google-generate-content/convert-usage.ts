// How does Gemini count tokens? Its input has cached tokens in it, and what its own tools read beside it; thoughts are beside the answer.

import type { Usage } from '../../../core/contract/ledger-record.ts';
import { asRecord } from '../../json/record.ts';
import { believeCount as count } from '../answer/believe-count.ts';

/** Undefined if nothing was counted, or nothing that can be believed. */
export function readGeminiUsage(value: unknown): Usage | undefined {
  const counts = asRecord(value);
  if (!counts) return undefined;
  const prompt = count(counts.promptTokenCount);
  if (prompt === undefined) return undefined;
  const toolUse = count(counts.toolUsePromptTokenCount) ?? 0;
  const candidates = count(counts.candidatesTokenCount) ?? 0;
  const thoughts = count(counts.thoughtsTokenCount) ?? 0;
  const input = prompt + toolUse;
  // Some models count their thoughts among the candidates; the total tells.
  const areInside = thoughts > 0 && count(counts.totalTokenCount) === input + candidates;
  const audioInput = audioIn(counts.promptTokensDetails);
  const audioOutput = audioIn(counts.candidatesTokensDetails);
  return {
    input,
    cachedInput: Math.min(count(counts.cachedContentTokenCount) ?? 0, input),
    cacheWrite: 0,
    output: areInside ? candidates : candidates + thoughts,
    reasoning: thoughts,
    ...(audioInput > 0 ? { audioInput } : {}),
    ...(audioOutput > 0 ? { audioOutput } : {}),
  };
}

/** The first chunks of a stream count its input alone. */
export function countsOutput(value: unknown): boolean {
  const { candidatesTokenCount, thoughtsTokenCount } = asRecord(value) ?? {};
  return candidatesTokenCount !== undefined || thoughtsTokenCount !== undefined;
}

function audioIn(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  return details.reduce((sum: number, entry: unknown) => {
    const { modality, tokenCount } = asRecord(entry) ?? {};
    return modality === 'AUDIO' ? sum + (count(tokenCount) ?? 0) : sum;
  }, 0);
}
