// Which gateway pods skip a provider, one of its models or keys, and why? In a sentence for each pod.

import type { Tone } from './conditions.ts';
import type { Formats } from './format.ts';
import type { Provider, ProviderTrouble } from './kube.ts';

interface TroubleWords {
  readonly id: string;
  /** Such as `Key main`. */
  readonly what: string;
  readonly tone: Tone;
  /** Such as `Paused by gateway-a: circuit open since Nov 23, 2026, 06:41 UTC, retry in 12 seconds`. */
  readonly pods: readonly { readonly name: string; readonly sentence: string }[];
  /** How many more there are than are named. */
  readonly more: number;
}

const REASONS: Readonly<Record<string, { readonly tone: Tone; readonly words: string }>> = {
  CircuitOpen: { tone: 'bad', words: 'circuit open' },
  RateLimited: { tone: 'warn', words: 'cooling down after a rate limit' },
  Exhausted: { tone: 'bad', words: 'quota used up' },
  Invalid: { tone: 'bad', words: 'rejected by the upstream' },
};

/** @param upstreamModel what is of this model or of all of them; undefined: whatever there is. */
export function troubleWords(
  { status }: Pick<Provider, 'status'>,
  formats: Pick<Formats, 'ago' | 'time'>,
  nowMs: number,
  upstreamModel?: string,
): readonly TroubleWords[] {
  const isAsked = (trouble: ProviderTrouble) =>
    upstreamModel === undefined ||
    trouble.upstreamModel === undefined ||
    trouble.upstreamModel === upstreamModel;
  return (status?.health?.troubles ?? []).filter(isAsked).map((trouble) => {
    const { key, upstreamModel: model, reason, podCount, pods } = trouble;
    const { tone, words } = REASONS[reason] ?? { tone: 'warn', words: reason };
    return {
      id: `${key ?? ''} ${model ?? ''} ${reason}`,
      what: key !== undefined ? `Key ${key}` : model !== undefined ? `Model ${model}` : 'Address',
      tone,
      pods: pods.map(({ name, sinceTime, nextTryTime }) => ({
        name,
        sentence: `Paused by ${name}: ${words} since ${formats.time(sinceTime)}, ${again(nextTryTime)}`,
      })),
      more: Math.max(0, podCount - pods.length),
    };
  });

  /** A time in the past is that of a failed retry; the pods report the next one later. */
  function again(nextTryTime: string | undefined): string {
    const isToCome = nextTryTime !== undefined && Date.parse(nextTryTime) > nowMs;
    return isToCome ? `retry ${formats.ago(nextTryTime, nowMs)}` : 'retried from time to time';
  }
}
