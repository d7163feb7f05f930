// Which requests does the ledger have to tell the truth about? Every fault of the failover tests, with another provider behind it and
// without, and good answers in all shapes, with counts and without; each with what its provider's first calls leave in the ledger.

import type { DialectName, RouteEntry, Timeouts } from '../../../core/contract/routing-table.ts';
import type { Answer, Behaviour } from '../../support/wall.ts';
import { nativeVariants, translatedVariants, type Variant } from '../fault-matrix.ts';
import { type Mode, type Row, rowsOf } from '../faults.ts';
import type { Word } from './judge.ts';

export interface Scene {
  readonly fault: string;
  readonly variant: Variant;
  readonly mode: Mode;
  /** `refused`: nobody listens. */
  readonly behaviour: Behaviour | 'refused';
  /** Another provider, which answers, is behind. */
  readonly hasSecond: boolean;
  readonly timeouts?: Timeouts | undefined;
  readonly retryOn?: RouteEntry['failover']['retryOn'] | undefined;
  /** The caller goes away once it has read so many tokens; 0: once the provider has been asked. */
  readonly leavesAfter?: number;
  /** How often it is asked, one after the other, on connections that no other scene has; default once. */
  readonly requests?: 2;
  /** What the calls of the first provider leave; one for all of them, or one after the other. */
  readonly word: Word | readonly Word[];
}

export interface Extent {
  readonly variants: readonly Variant[];
  /** Of each fault that another provider covers up, also the form without one. */
  readonly isWhole: boolean;
}

export const wholeExtent: Extent = { variants: [...nativeVariants, ...translatedVariants], isWhole: true };
export const shortExtent: Extent = { variants: nativeVariants, isWhole: false };

export function scenesOf({ variants, isWhole }: Extent): readonly Scene[] {
  return variants.flatMap((variant) =>
    (['stream', 'plain'] as const).flatMap((mode) => [
      ...rowsOf(variant.upstream)
        .filter(({ modes }) => modes?.includes(mode) !== false)
        .flatMap((row) => faultScenes(row, variant, mode, isWhole)),
      ...answerScenes(variant, mode),
    ]),
  );
}

function faultScenes(row: Row, variant: Variant, mode: Mode, isWhole: boolean): readonly Scene[] {
  const { name: fault, fault: behaviour, timeouts, retryOn } = row;
  const scene = { fault, variant, mode, behaviour, timeouts, retryOn, word: wordOf(row, variant) };
  const isCovered = row.effect === 'moves-on' && isWhole;
  return (isCovered ? [true, false] : [true]).map((hasSecond) => ({ ...scene, hasSecond }));
}

function wordOf({ effect, hasBegun }: Row, { upstream }: Variant): Word {
  if (effect === 'breaks-off') return 'estimated';
  return hasBegun === true && upstream === 'anthropic-messages' ? 'begun' : 'nothing';
}

/** The whole of an answer, but for its end, in events. */
const reportedAll: Readonly<Partial<Record<DialectName, number>>> = {
  'openai-chat': 14,
  'openai-completions': 13,
  'anthropic-messages': 16,
};

function answerScenes(variant: Variant, mode: Mode): readonly Scene[] {
  const { upstream } = variant;
  const isStream = mode === 'stream';
  const scene = (
    fault: string,
    behaviour: Behaviour,
    word: Scene['word'],
    more: Partial<Scene> = {},
  ): Scene => ({
    ...{ fault, variant, mode, behaviour, hasSecond: true, word },
    ...more,
  });
  const answer = (fault: string, how: Answer, word: Word = 'counted'): Scene =>
    scene(fault, { type: 'answer', ...how }, word);
  const isResponses = upstream === 'openai-responses';
  const reported = reportedAll[upstream];
  return [
    answer('none', {}),
    answer('none, much of it from a cache', {
      usage: { inputTokens: 2_345, cachedTokens: 1_920, outputTokens: 678, reasoningTokens: 432 },
    }),
    answer('none, much of it written to a cache', {
      usage: {
        ...{ inputTokens: 3_210, cachedTokens: 1_111, cacheWriteTokens: 1_024 },
        ...{ outputTokens: 345, reasoningTokens: 123 },
      },
    }),
    scene(
      'a connection that ends when it is used again',
      { type: 'stale-reuse', how: 'reset', fresh: { type: 'answer' } },
      ['counted', 'nothing', 'counted'],
      { requests: 2 },
    ),
    scene('a caller that leaves before the answer', { type: 'hang', when: 'before-headers' }, 'estimated', {
      leavesAfter: 0,
    }),
    ...(isStream
      ? [
          answer('none, counts reported twice', { usageChunk: 'twice' }),
          answer('counts that are never reported', { usageChunk: 'never' }, 'estimated'),
          ...(isResponses
            ? []
            : [
                answer('no end marker', { omit: ['end'] }),
                answer(
                  'no finish reason',
                  { omit: ['finish'] },
                  // It is reported in one event with the counts.
                  upstream === 'anthropic-messages' ? 'estimated' : 'counted',
                ),
              ]),
          answer('a reset behind the whole', { afterwards: 'reset-unannounced' }),
          scene(
            'half a stream, then a reset',
            { type: 'stall', after: { contentEvents: 5 }, for: { ms: 500 }, followedBy: 'reset' },
            'estimated',
          ),
          scene(
            'a caller that leaves in the middle',
            { type: 'stall', after: { contentEvents: 5 } },
            'estimated',
            { leavesAfter: 5 },
          ),
          ...(reported === undefined
            ? []
            : [
                scene(
                  'a caller that leaves behind the counts',
                  { type: 'stall', after: { events: reported } },
                  'counted',
                  { leavesAfter: 11 },
                ),
              ]),
        ]
      : []),
  ];
}
