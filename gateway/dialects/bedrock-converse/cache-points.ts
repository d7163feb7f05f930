// Which marks of a prompt prefix worth caching does a request keep? Converse takes four; the longer-lived ones come first.

type Block = Readonly<Record<string, unknown>>;

const pointsMax = 4;

/** @param hint As the messages dialect has it: `{type: 'ephemeral', ttl?}`. */
export function cachePoint(hint: unknown): Block {
  const { ttl } = (typeof hint === 'object' && hint !== null ? hint : {}) as { readonly ttl?: unknown };
  return { cachePoint: { type: 'default', ...(ttl === '1h' ? { ttl } : {}) } };
}

/**
 * The lists of blocks of a request with the last points of all of them.
 *
 * @param lists In the order of the prompt: tools, system, then the messages.
 */
export function keepCachePoints(lists: readonly (readonly Block[])[]): readonly (readonly Block[])[] {
  const points = lists.flat().filter(isPoint);
  const kept = new Set(points.slice(-pointsMax));
  let hasShort = false;
  return lists.map((blocks) =>
    blocks.flatMap((block): readonly Block[] => {
      if (!isPoint(block)) return [block];
      if (!kept.has(block)) return [];
      const { ttl } = block.cachePoint as { readonly ttl?: string };
      // After one for five minutes, one for an hour is refused.
      const isShort = ttl === undefined || hasShort;
      hasShort ||= isShort;
      return [isShort ? cachePoint(undefined) : block];
    }),
  );
}

function isPoint(block: Block): boolean {
  return block.cachePoint !== undefined;
}
