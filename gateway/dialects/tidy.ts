// Which turns does an upstream get to see? Upstreams refuse what clients send without a thought:
// results without calls, calls without results, neighbours of one role, empty text, and the opaque
// state of other providers. Mended once, for all of them.

import type { Conversation, Part, PartOf, Turn } from './conversation.ts';
import type { UpstreamTarget } from './dialect.ts';

/** The conversation as this target can take it: see the rules of the functions below. */
export function tidy(
  conversation: Conversation,
  target: Pick<UpstreamTarget, 'origin' | 'maxOutputTokens'>,
): Conversation {
  const own = conversation.turns.map((turn) => withoutForeignState(turn, target.origin));
  const shown = mergeNeighbours(pairCalls(mergeNeighbours(own.map(withoutBlanks))));
  // A prompt of white space only is still a prompt; that it is refused is the upstream's to say.
  const turns = shown.length > 0 ? shown : conversation.turns.slice(-1);
  const tidied = { ...conversation, system: conversation.system.filter(isShown), turns };
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

function withoutBlanks(turn: Turn): Turn {
  return turn.parts.every(isShown) ? turn : { ...turn, parts: turn.parts.filter(isShown) };
}

/** Text of white space only says nothing, and some upstreams refuse it. */
function isShown(part: Part): boolean {
  return part.type !== 'text' || part.text.trim() !== '';
}

/** Neighbours of one role become one turn; a turn without parts is left out. */
function mergeNeighbours(turns: readonly Turn[]): readonly Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    if (turn.parts.length === 0) continue;
    const last = merged.at(-1);
    // System turns stay apart: each may mark a prefix worth caching.
    if (last?.role === turn.role && turn.role !== 'system') {
      merged[merged.length - 1] = { ...last, parts: [...last.parts, ...turn.parts] };
    } else merged.push(turn);
  }
  return merged;
}

/**
 * Behind each turn with calls comes one user turn that begins with their results, in the order of
 * the calls. A call that nobody answered is answered with "no result"; a result without a call is
 * text of the user. Ids may be used again: a result belongs to the latest call before it.
 */
function pairCalls(turns: readonly Turn[]): readonly Turn[] {
  const open = new Map<string, PartOf<'tool-call'>>();
  const results = new Map<PartOf<'tool-call'>, PartOf<'tool-result'>>();
  const paired = new Set<Part>();
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type === 'tool-call') open.set(part.id, part);
      const call = part.type === 'tool-result' ? open.get(part.id) : undefined;
      if (!call || part.type !== 'tool-result') continue;
      open.delete(part.id);
      results.set(call, part);
      paired.add(part);
    }
  }
  return turns.flatMap((turn): Turn[] => {
    if (turn.role === 'user') return [withoutPaired(turn, paired)];
    const calls = turn.parts.filter((part) => part.type === 'tool-call');
    if (calls.length === 0) return [turn];
    return [turn, { role: 'user', parts: calls.map((call) => results.get(call) ?? noResult(call.id)) }];
  });
}

function withoutPaired(turn: Turn, paired: ReadonlySet<Part>): Turn {
  return {
    ...turn,
    parts: turn.parts.flatMap((part): readonly Part[] => {
      if (part.type !== 'tool-result') return [part];
      return paired.has(part) ? [] : part.parts.filter(isShown);
    }),
  };
}

function noResult(id: string): Part {
  return { type: 'tool-result', id, parts: [{ type: 'text', text: 'no result' }], isError: true };
}
