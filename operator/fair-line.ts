// A fair queue: keys wait in lanes that are served in rotation, lanes of the first rank before all others. So ten thousand keys of one
// lane do not delay another lane.

export interface Lane {
  readonly name: string;
  /** Goes before all lanes that do not. */
  readonly isFirst: boolean;
}

interface FairLine {
  readonly size: number;
  has(key: string): boolean;
  /** At the end of its lane, with the time of its arrival. */
  add(key: string, atMs: number): void;
  take(): readonly [key: string, atMs: number] | undefined;
  clear(): void;
}

/** Keys in the order of arrival. */
interface Waiting {
  readonly keys: Map<string, number>;
  /** At the first of them: a walk that began again each time would step over the gap of each key that was taken. */
  head: MapIterator<[string, number]>;
}

const oneLane: Lane = { name: '', isFirst: false };

export function createFairLine(laneOf: (key: string) => Lane = () => oneLane): FairLine {
  const lanes = new Map<string, Waiting>();
  /** Lanes with keys, in the order of their turns. */
  const turns: { readonly first: string[]; readonly others: string[] } = { first: [], others: [] };
  let size = 0;

  return {
    get size() {
      return size;
    },
    has: (key) => lanes.get(laneOf(key).name)?.keys.has(key) === true,
    add(key, atMs) {
      const { name, isFirst } = laneOf(key);
      const lane = lanes.get(name);
      if (lane !== undefined) {
        lane.keys.set(key, atMs);
      } else {
        const keys = new Map([[key, atMs]]);
        lanes.set(name, { keys, head: keys.entries() });
        (isFirst ? turns.first : turns.others).push(name);
      }
      size += 1;
    },
    take() {
      const line = turns.first.length > 0 ? turns.first : turns.others;
      const name = line.shift();
      const lane = name === undefined ? undefined : lanes.get(name);
      if (name === undefined || lane === undefined) return undefined;
      const next = takeHead(lane);
      if (lane.keys.size > 0) line.push(name);
      else lanes.delete(name);
      if (next !== undefined) size -= 1;
      return next;
    },
    clear() {
      lanes.clear();
      turns.first.length = 0;
      turns.others.length = 0;
      size = 0;
    },
  };
}

function takeHead(lane: Waiting): readonly [string, number] | undefined {
  let next = lane.head.next();
  if (next.done === true) {
    // A finished iterator would not see keys that are added later.
    lane.head = lane.keys.entries();
    next = lane.head.next();
  }
  if (next.done === true) return undefined;
  lane.keys.delete(next.value[0]);
  return next.value;
}

/** The lane of an object, by `Kind/namespace/name`: each namespace is a lane, and objects that users write go before keys that are issued in bulk. */
export function laneOfObject(key: string): Lane {
  const [kind = '', namespace = ''] = key.split('/', 2);
  const isFirst = kind !== 'ApiKey';
  return { name: `${isFirst ? '' : kind}/${namespace}`, isFirst };
}
