// Where do responses requests and answers that pass through hold reasoning which only its provider
// can read?

import type { Path } from '../../json/read-parts.ts';
import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { Replacement } from '../../json/replace-values.ts';
import { type ForeignPlaces, isForeignState, readOwnState } from '../state/foreign-state.ts';
import type { PlacedState, StatePlaces } from '../state/mark-state.ts';
import { isMintedId } from './minted-ids.ts';

/** No provider knows ids of our making, and none can open what another has sealed. */
export const requestPlaces: ForeignPlaces = {
  member: 'input',
  find(items, origin) {
    const foreign: Path[] = [];
    const own: Replacement[] = [];
    for (const [at, value] of items.entries()) {
      const item = asRecord(value);
      if (isForeignReasoning(item, origin)) {
        foreign.push([at]);
        continue;
      }
      const sealed =
        item?.type === 'reasoning' ? readOwnState(item.encrypted_content, origin, 'encrypted') : undefined;
      if (sealed !== undefined) {
        own.push({ path: [at, 'encrypted_content'], text: JSON.stringify(sealed) });
      }
    }
    return { foreign, own };
  },
};

function isForeignReasoning(item: JsonRecord | undefined, origin: string): boolean {
  const isMinted = isMintedId(item?.id);
  if (item?.type === 'reasoning') {
    return isMinted || isForeignState(item.encrypted_content, origin, 'encrypted');
  }
  return isMinted && item?.type === 'item_reference';
}

/** Two events hold an item whole, and the terminal event repeats it; deltas hold no state. */
export const answerPlaces: StatePlaces = {
  mayHold: (name, data) => stateEvents.has(name) && data.includes('"encrypted_content"'),
  find(_name, event) {
    const response = asRecord(event.response);
    const output = response && Array.isArray(response.output) ? response.output : [];
    return [...stateOf(event.item, ['item']), ...findStates(output, ['response'])];
  },
};

const stateEvents = new Set([
  'response.output_item.added',
  'response.output_item.done',
  'response.completed',
  'response.incomplete',
]);

export function findStates(output: readonly unknown[], path: Path): PlacedState[] {
  return output.flatMap((item, at) => stateOf(item, [...path, 'output', at]));
}

function stateOf(value: unknown, path: Path): PlacedState[] {
  const item = asRecord(value);
  const sealed = item?.encrypted_content;
  if (item?.type !== 'reasoning' || typeof sealed !== 'string' || sealed === '') return [];
  return [{ path: [...path, 'encrypted_content'], state: { kind: 'encrypted', value: sealed } }];
}
