// Which ids of reasoning items are of our own making? No provider knows them: they must not be sent
// back to one.

/** What the ids of reasoning items begin with that stand for thinking of another dialect. */
export const mintedReasoningPrefix = 'rs_penstock_';
