// Which gateway pods do not use a provider, a model there or a key of it, and why? In a sentence for each pod.

import type { Tone } from './conditions.ts';
import type { Formats } from './format.ts';
import type { Provider, ProviderTrouble } from './kube.ts';

interface TroubleWords {
  readonly id: string;
  /** Such as `Key main`. */
  readonly what: string;
  readonly tone: Tone;
  /** Such as `Not asked by gateway-a (circuit open since Nov 23, 2026, 06:41 AM UTC, tried again in 12 seconds)`. */
  readonly pods: readonly { readonly name: string; readonly sentence: string }[];
  /** How many more there are than are named. */
  readonly more: number;
}

const REASONS: Readonly<Record<string, { readonly tone: Tone; readonly words: string }>> = {
  CircuitOpen: { tone: 'bad', words: 'circuit open' },
  RateLimited: { tone: 'warn', words: 'resting after a rate limit' },
  Exhausted: { tone: 'bad', words: 'quota used up' },
  Invalid: { tone: 'bad', words: 'refused by the upstream' },
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
      what: key !== undefined ? `Key ${key}` : model !== undefined ? `Model ${model}` : 'The address',
      tone,
      pods: pods.map(({ name, sinceTime, nextTryTime }) => ({
        name,
        sentence: `Not asked by ${name} (${words} since ${formats.time(sinceTime)}, ${again(nextTryTime)})`,
      })),
      more: Math.max(0, podCount - pods.length),
    };
  });

  /** Times that are over are of a try that failed, or the pods have said another one since. */
  function again(nextTryTime: string | undefined): string {
    const isToCome = nextTryTime !== undefined && Date.parse(nextTryTime) > nowMs;
    return isToCome ? `tried again ${formats.ago(nextTryTime, nowMs)}` : 'tried again now and then';
  }
}
