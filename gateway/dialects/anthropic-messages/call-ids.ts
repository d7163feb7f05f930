// By which id does the client know a tool call of an answer? Conversations may go on at an upstream
// that takes letters, digits, underscores and hyphens only, so nothing else is given out.

/** A fresh giver of ids for one answer. */
export function giveCallIds(answerId: string): (upstreamId: string) => string {
  const given = new Set<string>();
  return (upstreamId) => {
    const clean = upstreamId.replace(/[^a-zA-Z0-9_-]/g, '_');
    const position = given.size;
    let id = clean === '' ? `toolu_${answerId}_${position}` : clean;
    for (let round = 0; given.has(id); round++) id = `${clean}_${position + round}`;
    given.add(id);
    return id;
  };
}
