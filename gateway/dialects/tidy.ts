// Which turns does an upstream get to see? Upstreams refuse what clients send without a thought:
// results without calls, calls without results, neighbours of one role, empty text, and the opaque
// state of other providers. Mended once, for all of them.

import type { Conversation, Part, PartOf, Turn } from './conversation.ts';
import type { UpstreamTarget, UpstreamTranslation } from './dialect.ts';
import { withDeclaredNames } from './tools/declared-names.ts';
import { uniqueIds } from './tools/unique-ids.ts';

/** The conversation as this target can take it: see the rules of the functions below. */
export function tidy(
  conversation: Conversation,
  target: Pick<UpstreamTarget, 'origin' | 'maxOutputTokens'>,
  { refusesBlankText = false }: Pick<UpstreamTranslation, 'refusesBlankText'> = {},
): Conversation {
  const declared = withDeclaredNames(conversation);
  const own = declared.turns.map((turn) => withoutForeignState(turn, target.origin));
  const merged = mergeNeighbours(pairCalls(mergeNeighbours(own)));
  const shown = merged.map((turn) => withoutBlanks(turn, refusesBlankText));
  // A prompt of white space only is still a prompt; that it is refused is the upstream's to say.
  const last = own.findLast(({ parts }) => parts.length > 0);
  const turns = shown.length > 0 || !last ? shown : [last];
  const tidied = { ...declared, system: declared.system.filter(isShown), turns };
  const { maxOutputTokens } = target;
  return maxOutputTokens !== undefined && asksForTooMuch(conversation, maxOutputTokens)
    ? { ...tidied, maxOutputTokens }
    : tidied;
}

/** More output tokens than the model can give: it gets as many as it can. */
export function asksForTooMuch(
  conversation: Pick<Conversation, 'maxOutputTokens'>,
  maxOutputTokens: number | undefined,
): boolean {
  return maxOutputTokens !== undefined && (conversation.maxOutputTokens ?? 0) > maxOutputTokens;
}

/**
 * Opaque state goes back to the provider it came from, unmarked again; thinking that is bound to
 * another one is left out whole. Thinking without any state stays, as text.
 */
function withoutForeignState(turn: Turn, origin: string): Turn {
  if (!turn.parts.some((part) => part.type === 'thinking' && part.opaque)) return turn;
  return {
    ...turn,
    parts: turn.parts.filter(
      (part) => part.type !== 'thinking' || !part.opaque || part.opaque.origin === origin,
    ),
  };
}

/** White space stands between other texts, which it keeps apart; empty text does nothing. */
function withoutBlanks(turn: Turn, refusesBlankText: boolean): Turn {
  const isKept = (part: Part): boolean =>
    refusesBlankText ? isShown(part) : part.type !== 'text' || part.text !== '';
  return turn.parts.every(isKept) ? turn : { ...turn, parts: turn.parts.filter(isKept) };
}

/** Text of white space only says nothing by itself. */
function isShown(part: Part): boolean {
  return part.type !== 'text' || part.text.trim() !== '';
}

/** Neighbours of one role become one turn; a turn that says nothing is left out. Callers may send thousands. */
function mergeNeighbours(turns: readonly Turn[]): readonly Turn[] {
  const merged: Turn[] = [];
  /** Of the last turn, once it is made of several. */
  let own: Part[] | undefined;
  for (const turn of turns) {
    if (!turn.parts.some(isShown)) continue;
    const last = merged.at(-1);
    // System turns stay apart: each may mark a prefix worth caching.
    if (last?.role === turn.role && turn.role !== 'system') {
      if (!own) {
        own = [...last.parts];
        merged[merged.length - 1] = { ...last, parts: own };
      }
      for (const part of turn.parts) own.push(part);
    } else {
      merged.push(turn);
      own = undefined;
    }
  }
  return merged;
}

/**
 * Behind each turn with calls comes one user turn that begins with their results, in the order of
 * the calls. A call that nobody answered is answered with "no result"; a result without a call is
 * text of the user. Where an id comes again, call and result get another one.
 */
function pairCalls(turns: readonly Turn[]): readonly Turn[] {
  const results = findResults(turns);
  const paired = new Set<Part>(results.values());
  const uniqueId = uniqueIds();
  return turns.flatMap((turn): Turn[] => {
    if (turn.role === 'user') return [withoutPaired(turn, paired)];
    const answers: Part[] = [];
    const parts = turn.parts.map((part): Part => {
      if (part.type !== 'tool-call') return part;
      const id = uniqueId(part.id);
      answers.push({ ...(results.get(part) ?? noResult), id });
      return { ...part, id };
    });
    return answers.length === 0
      ? [turn]
      : [
          { ...turn, parts },
          { role: 'user', parts: answers },
        ];
  });
}

/**
 * Ids may be used again: a result belongs to the first call of its id that has none yet, of those
 * that were made since the user last spoke.
 */
function findResults(turns: readonly Turn[]): ReadonlyMap<PartOf<'tool-call'>, PartOf<'tool-result'>> {
  const open = new Map<string, { readonly round: number; readonly calls: PartOf<'tool-call'>[] }>();
  const results = new Map<PartOf<'tool-call'>, PartOf<'tool-result'>>();
  for (const [round, { parts }] of roundsOf(turns)) {
    for (const part of parts) {
      if (part.type === 'tool-call') {
        const known = open.get(part.id);
        if (known?.round === round) known.calls.push(part);
        else open.set(part.id, { round, calls: [part] });
      } else if (part.type === 'tool-result') {
        const call = open.get(part.id)?.calls.shift();
        if (call) results.set(call, part);
      }
    }
  }
  return results;
}

/** Each turn with the number of user turns before it. */
function roundsOf(turns: readonly Turn[]): readonly (readonly [round: number, turn: Turn])[] {
  let round = 0;
  return turns.map((turn) => [turn.role === 'user' ? round++ : round, turn]);
}

const noResult: Omit<PartOf<'tool-result'>, 'id'> = {
  type: 'tool-result',
  parts: [{ type: 'text', text: 'no result' }],
  isError: true,
};

function withoutPaired(turn: Turn, paired: ReadonlySet<Part>): Turn {
  return {
    ...turn,
    parts: turn.parts.flatMap((part): readonly Part[] => {
      if (part.type !== 'tool-result') return [part];
      return paired.has(part) ? [] : part.parts;
    }),
  };
}
