// Where do messages requests and answers that pass through hold thinking which only its provider can
// read?

import type { Path } from '../../json/read-parts.ts';
import { asRecord, isRecord, type JsonRecord } from '../../json/record.ts';
import type { Replacement } from '../../json/replace-values.ts';
import { callStateMark, unpackCallId } from '../state/call-state.ts';
import { type ForeignPlaces, findInLists, isForeignState, readOwnState } from '../state/foreign-state.ts';
import type { PlacedState, StatePlaces } from '../state/mark-state.ts';

const signatureDelta = 'signature_delta';

/** Signatures come in one delta of their own; blocks that are not shown are whole when they start. */
export const answerPlaces: StatePlaces = {
  deltaWord: signatureDelta,
  mayHold(name, data) {
    if (name === 'content_block_delta') return data.includes(signatureDelta);
    return name === 'content_block_start' && data.includes('thinking');
  },
  find(name, event) {
    if (name === 'content_block_start') return statesOf(event.content_block, ['content_block']);
    const delta = asRecord(event.delta);
    return delta?.type === signatureDelta
      ? stateIn('signature', delta.signature, ['delta', 'signature'])
      : [];
  },
};

export function findStates(content: readonly unknown[]): PlacedState[] {
  return content.flatMap((block, at) => statesOf(block, ['content', at]));
}

function statesOf(value: unknown, path: Path): PlacedState[] {
  const block = asRecord(value);
  if (block?.type === 'thinking') return stateIn('signature', block.signature, [...path, 'signature']);
  return block?.type === 'redacted_thinking' ? stateIn('redacted', block.data, [...path, 'data']) : [];
}

function stateIn(kind: 'signature' | 'redacted', value: unknown, path: Path): PlacedState[] {
  return typeof value === 'string' && value !== '' ? [{ path, state: { kind, value } }] : [];
}

/** One unsigned block, or one signed elsewhere, and the vendor refuses every later turn of the session. */
export const requestPlaces: ForeignPlaces = {
  member: 'messages',
  mayHold: (bytes) => bytes.includes(callStateMark) || mayHoldEmptySignature(bytes),
  find: (turns, origin) => ({
    foreign: findInLists(turns, 'content', 'turn', (block) => isForeignThinking(block, origin)),
    own: turns.flatMap((turn, place) =>
      contentOf(turn).flatMap((block, at) => [
        ...ownThinking(block, origin, [place, 'content', at]),
        ...plainIds(block, [place, 'content', at]),
      ]),
    ),
  }),
};

function isForeignThinking({ type, signature, data }: JsonRecord, origin: string): boolean {
  if (type === 'thinking') return signature === '' || isForeignState(signature, origin, 'signature');
  return type === 'redacted_thinking' && isForeignState(data, origin, 'redacted');
}

function ownThinking(value: unknown, origin: string, path: Path): Replacement[] {
  return statesOf(value, path).flatMap(({ path: place, state }) => {
    if (state.kind === 'details') return [];
    const own = readOwnState(state.value, origin, state.kind);
    return own === undefined ? [] : [{ path: place, text: JSON.stringify(own) }];
  });
}

/** The ids of calls without what another provider wants back with them. */
function plainIds(value: unknown, path: Path): Replacement[] {
  const block = asRecord(value);
  const name = block?.type === 'tool_use' ? 'id' : block?.type === 'tool_result' ? 'tool_use_id' : undefined;
  const given = name === undefined ? undefined : block?.[name];
  if (name === undefined || typeof given !== 'string') return [];
  const { id } = unpackCallId(given);
  return id === given ? [] : [{ path: [...path, name], text: JSON.stringify(id) }];
}

function contentOf(turn: unknown): readonly unknown[] {
  const content = asRecord(turn)?.content;
  return Array.isArray(content) ? content : [];
}

const signatureName = '"signature"';

/** True also if the value is cut off and its end unknown. */
function mayHoldEmptySignature(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(signatureName); at !== -1; at = bytes.indexOf(signatureName, at + 1)) {
    const behind = bytes.toString('latin1', at + signatureName.length, at + signatureName.length + 16);
    if (/^\s*(:\s*("("|$)|$)|$)/.test(behind)) return true;
  }
  return false;
}

/**
 * With a budget for thinking, the calls that are being answered must follow their thinking;
 * it may have preceded earlier calls of the same loop.
 */
export function losesThinking(turns: readonly unknown[], origin: string): boolean {
  const loop = turns.slice(turns.findLastIndex(isQuestion) + 1).filter(isAssistant);
  const kept = contentOf(loop.at(-1)).filter((block) => isRecord(block) && !isForeignThinking(block, origin));
  const first = asRecord(kept[0])?.type;
  return (
    kept.some((block) => asRecord(block)?.type === 'tool_use') &&
    first !== 'thinking' &&
    first !== 'redacted_thinking' &&
    loop.some((turn) => contentOf(turn).some((block) => isRecord(block) && isForeignThinking(block, origin)))
  );
}

function isAssistant(turn: unknown): boolean {
  return asRecord(turn)?.role === 'assistant';
}

/** A turn of tool results is not a question. */
function isQuestion(turn: unknown): boolean {
  return (
    asRecord(turn)?.role === 'user' &&
    !contentOf(turn).some((block) => asRecord(block)?.type === 'tool_result')
  );
}
