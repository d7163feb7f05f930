// Is this request traced? Decided before anything is built for it, by the samplers that OpenTelemetry names.

import type { TraceContext } from './trace-context.ts';

export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplerNames)[number];

export interface Sampler {
  /** Whoever began the trace has decided. */
  readonly followsParent: boolean;
  /** Of the traces that are decided on here, from 0 to 1. */
  readonly ratio: number;
}

/** @param ratio Of the samplers that take one. */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const own = name.replace('parentbased_', '');
  return {
    followsParent: own !== name,
    ratio: own === 'always_on' ? 1 : own === 'always_off' ? 0 : ratio,
  };
}

/**
 * @param parent The context that the request came with.
 * @param random From 0 (inclusive) to 1 (exclusive).
 */
export function isTraced(
  { followsParent, ratio }: Sampler,
  parent: TraceContext | undefined,
  random: () => number,
): boolean {
  if (parent === undefined) return random() < ratio;
  if (followsParent) return parent.isSampled;
  // The highest ids are rounded up to 1.
  return ratio > 0 && randomnessOf(parent.traceId) >= 1 - ratio;
}

/** From the last 56 bits, which W3C has random: all that sample by the id take the same traces. */
function randomnessOf(traceId: string): number {
  return Number.parseInt(traceId.slice(-14), 16) / 2 ** 56;
}
