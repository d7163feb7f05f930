// How does a chat client get what the model thought, and what the provider wants back of it? The
// text as `reasoning_content`, a plain string; the rest packed, as entries of `reasoning_details`.

import { type MarkedState, packOpaque } from '../state/opaque.ts';

/** Between the texts of two thinking parts, which share one string. */
export const thinkingSeparator = '\n\n';

/**
 * One entry of `reasoning_details`; undefined if there is nothing to give back.
 *
 * @param textLength How much of `reasoning_content` it belongs to: signatures are good for their own text only.
 */
export function packThinking(
  opaque: MarkedState | undefined,
  index: number,
  textLength: number,
): Record<string, unknown> | undefined {
  if (opaque?.origin === undefined) return undefined;
  const data = packOpaque(opaque.origin, opaque.state);
  return { type: 'reasoning.encrypted', data, format: 'penstock', index, text_length: textLength };
}
