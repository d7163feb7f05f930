// Which ids of reasoning items are of our own making? No provider knows them: they must not be sent
// back to one.

import { mintedReasoningPrefix } from '../../json/own-beginnings.ts';

/** Whether an item, or a reference to one, is of reasoning that no provider keeps. */
export function isMintedId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(mintedReasoningPrefix);
}
