// Has the format that the pods can read changed since the last look, in a way that matters to an entry?

import { READER_FORMAT } from '../../core/contract/routing-table.ts';
import type { Reader } from '../hold/withhold-newer.ts';

export function createReaderWatch(): (pods: readonly Reader[]) => boolean {
  let known = '[]';
  return (pods) => {
    const words = describeReaders(pods);
    const isOther = words !== known;
    known = words;
    return isOther;
  };
}

/** Only pods that keep something out, and whether some were not heard: of two hundred that read everything nothing need be said. */
function describeReaders(pods: readonly Reader[]): string {
  const old = pods.filter(({ maxFormat }) => maxFormat !== undefined && maxFormat < READER_FORMAT);
  const isSilent = pods.some(({ maxFormat }) => maxFormat === undefined);
  return JSON.stringify([
    ...old.map(({ name, maxFormat }) => [name, maxFormat]),
    ...(isSilent ? ['silent'] : []),
  ]);
}
