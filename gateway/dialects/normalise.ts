// Which turns does an upstream get to see? Upstreams refuse what clients send without a thought:
// results without calls, calls without results, neighbours of one role, empty text, and the opaque
// state of other providers. Mended once, for all of them.

import type { Conversation, Part, PartOf, Turn } from './conversation.ts';
import type { UpstreamTarget, UpstreamTranslation } from './dialect.ts';
import { withDeclaredNames } from './tools/declared-names.ts';
import { uniqueIds } from './tools/unique-ids.ts';

/** The conversation as this target can take it: see the rules of the functions below. */
export function normalise(
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
  const normalised = { ...declared, system: declared.system.filter(isShown), turns };
  const { maxOutputTokens } = target;
  return maxOutputTokens !== undefined && asksForTooMuch(conversation, maxOutputTokens)
    ? { ...normalised, maxOutputTokens }
    : normalised;
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

/** White space between other texts separates them; empty text does nothing. */
function withoutBlanks(turn: Turn, refusesBlankText: boolean): Turn {
  const isKept = (part: Part): boolean =>
    refusesBlankText ? isShown(part) : part.type !== 'text' || part.text !== '';
  return turn.parts.every(isKept) ? turn : { ...turn, parts: turn.parts.filter(isKept) };
}

/** White space alone is not content. */
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
 * After each turn with calls comes one user turn that begins with their results, in the order of
 * the calls. A call without a result gets "no result"; a result without a call gets a call. Words of
 * a tool may carry instructions, so they never become text of the user. Where an id comes again,
 * call and result get another one.
 */
function pairCalls(turns: readonly Turn[]): readonly Turn[] {
  const results = findResults(turns);
  const paired = new Set<Part>([...results.values()].flat());
  const uniqueId = uniqueIds();
  const withResults = (turn: Turn): readonly Turn[] => {
    const answers: Part[] = [];
    const parts = turn.parts.map((part): Part => {
      if (part.type !== 'tool-call') return part;
      const id = uniqueId(part.id);
      answers.push({ ...joinResults(results.get(part)), id });
      return { ...part, id };
    });
    return answers.length === 0
      ? [turn]
      : [
          { ...turn, parts },
          { role: 'user', parts: answers },
        ];
  };
  const withCalls = (turn: Turn): readonly Turn[] => {
    const parts = turn.parts.filter((part) => !paired.has(part));
    const at = parts.findIndex(({ type }) => type === 'tool-result');
    if (at === -1) return [{ ...turn, parts }];
    const orphans = parts.filter((part) => part.type === 'tool-result');
    const answers = orphans.map((result) => ({ ...result, id: uniqueId(result.id) }));
    return [
      { ...turn, parts: parts.slice(0, at) },
      { role: 'assistant', parts: answers.map(({ id }) => ({ ...lostCall, id })) },
      { ...turn, parts: [...answers, ...parts.slice(at).filter(({ type }) => type !== 'tool-result')] },
    ];
  };
  return turns.flatMap((turn) => (turn.role === 'user' ? withCalls(turn) : withResults(turn)));
}

/**
 * Ids may be used again: a result belongs to the first call of its id that has none yet, of those
 * that were made since the user last spoke. A further result belongs to the last call of its id: a
 * client says "interrupted" first and what came of it later.
 */
function findResults(
  turns: readonly Turn[],
): ReadonlyMap<PartOf<'tool-call'>, readonly PartOf<'tool-result'>[]> {
  interface Alike {
    readonly round: number;
    /** Without a result. */
    readonly open: PartOf<'tool-call'>[];
    answered?: PartOf<'tool-result'>[];
  }
  const known = new Map<string, Alike>();
  const results = new Map<PartOf<'tool-call'>, PartOf<'tool-result'>[]>();
  for (const [round, { parts }] of roundsOf(turns)) {
    for (const part of parts) {
      if (part.type === 'tool-call') {
        const alike = known.get(part.id);
        if (alike?.round === round) alike.open.push(part);
        else known.set(part.id, { round, open: [part] });
      } else if (part.type === 'tool-result') {
        const alike = known.get(part.id);
        const call = alike?.open.shift();
        if (alike && call) {
          alike.answered = [part];
          results.set(call, alike.answered);
        } else alike?.answered?.push(part);
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

/** Upstreams take one result a call: all that was said, and whether it failed in the end. */
function joinResults(results: readonly PartOf<'tool-result'>[] = []): Omit<PartOf<'tool-result'>, 'id'> {
  const last = results.at(-1);
  if (!last) return noResult;
  return results.length === 1 ? last : { ...last, parts: results.flatMap(({ parts }) => parts) };
}

const noResult: Omit<PartOf<'tool-result'>, 'id'> = {
  type: 'tool-result',
  parts: [{ type: 'text', text: 'no result' }],
  isError: true,
};

/** Replaces a call that is no longer in the conversation, so that its result can be sent. */
const lostCall = { type: 'tool-call', name: 'unknown_tool', kind: 'function', input: '{}' } as const;
