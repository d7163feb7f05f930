// Which id does a call get if the upstream numbers its calls from the start in every answer? Ids must be
// unique in a conversation; the first call keeps its own.

/**
 * Returns each id once; a duplicate gets a number as suffix. Later turns never change the ids of earlier turns, so
 * that prompt caches stay warm.
 */
export function uniqueIds(): (id: string) => string {
  const taken = new Set<string>();
  const rounds = new Map<string, number>();
  return (id) => {
    let unique = id;
    for (let round = rounds.get(id) ?? 2; taken.has(unique); round++) {
      unique = `${id}_${round}`;
      rounds.set(id, round + 1);
    }
    taken.add(unique);
    return unique;
  };
}
