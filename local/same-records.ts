// Which records say what they said before? They are the same values then, so that what was compiled of them is taken over.

import { isDeepStrictEqual } from 'node:util';

interface Named {
  readonly namespace?: string;
  readonly name: string;
}

/** With a memory of the last list. */
export function createSameRecords<T extends Named>(): (records: readonly T[]) => readonly T[] {
  let last: ReadonlyMap<string, T> = new Map();
  return (records) => {
    const same = records.map((record) => {
      const before = last.get(placeOf(record));
      return before !== undefined && isDeepStrictEqual(before, record) ? before : record;
    });
    last = new Map(same.map((record) => [placeOf(record), record]));
    return same;
  };
}

const placeOf = ({ namespace = '', name }: Named): string => `${namespace}/${name}`;
