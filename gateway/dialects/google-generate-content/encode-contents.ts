// Our turns as contents: user and model in turn, the user first and last; the results of all calls of a turn right behind it, one each.

import { parseJson } from '../../../core/parse-json.ts';
import { isRecord, type JsonRecord } from '../../json/record.ts';
import { JsonText } from '../../json/write-json.ts';
import type { Conversation, Part, PartOf, Turn } from '../conversation.ts';
import { asReminder } from '../reminder.ts';
import { findExtras } from '../state/extra-content.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { noSignature, readCallState } from './call-state.ts';
import { encodeContent, type WirePart } from './encode-parts.ts';
import type { ModelTraits } from './model-traits.ts';

interface Content {
  readonly role: 'user' | 'model';
  readonly parts: WirePart[];
}

export function encodeContents(
  conversation: Conversation,
  names: ToolNames,
  traits: ModelTraits,
): readonly Content[] {
  const extras = extrasOf(conversation);
  const ids = idsOf(conversation, traits, extras);
  const calls = new Map<string, PartOf<'tool-call'>>();
  const contents: Content[] = [];
  if (!traits.takesSystem) push(contents, 'user', conversation.system.flatMap(partsOf));
  for (const { role, parts } of conversation.turns) {
    for (const part of parts) if (part.type === 'tool-call') calls.set(part.id, part);
    switch (role) {
      case 'system':
        push(contents, 'user', parts.flatMap(remindersOf));
        break;
      case 'user':
        push(contents, 'user', [...resultsOf(parts), ...parts.flatMap(partsOf)]);
        break;
      case 'assistant':
        push(contents, 'model', modelParts(parts));
    }
  }
  if (contents[0]?.role !== 'user') contents.unshift({ role: 'user', parts: [nudge] });
  if (contents.at(-1)?.role !== 'user') contents.push({ role: 'user', parts: [nudge] });
  return contents;

  function resultsOf(parts: readonly Part[]): readonly WirePart[] {
    const results = parts.filter((part) => part.type === 'tool-result');
    const media = traits.takesResultMedia ? [] : results.flatMap(mediaOf);
    return [
      ...results.map((result) => encodeResult(result, calls.get(result.id))),
      ...(media.length > 0 ? [{ text: mediaSource }, ...media] : []),
    ];
  }

  function encodeResult(result: PartOf<'tool-result'>, call: PartOf<'tool-call'> | undefined): WirePart {
    const text = result.parts.flatMap((part) => encodeContent(part)?.text ?? []).join('\n');
    const media = traits.takesResultMedia ? mediaOf(result) : [];
    const id = call && ids.get(call);
    return {
      functionResponse: {
        ...(id === undefined ? {} : { id }),
        name: call ? names.wireName(call) : 'unknown_tool',
        // Text, never the object that it may be the JSON of: `$ref` in one would be read as a reference.
        response: result.isError ? { error: text } : { output: text },
        ...(media.length > 0 ? { parts: media } : {}),
      },
    };
  }

  /** Parallel calls have one signature, which the first of them carries. */
  function modelParts(parts: readonly Part[]): readonly WirePart[] {
    const written: WirePart[] = [];
    let signature: string | undefined;
    let hasCalls = false;
    for (const part of parts) {
      if (part.type === 'thinking') {
        const own = signatureOf(part);
        const last = written.at(-1);
        if (own === undefined) continue;
        if (last?.text !== undefined && last.thoughtSignature === undefined)
          written[written.length - 1] = { ...last, thoughtSignature: own };
        else signature = own;
      } else if (part.type === 'tool-call') {
        const own = readCallState(extras.get(part))?.signature;
        const sent = own ?? (hasCalls || !traits.wantsSignatures ? undefined : noSignature);
        hasCalls = true;
        const id = ids.get(part);
        written.push({
          functionCall: {
            ...(id === undefined ? {} : { id }),
            name: names.wireName(part),
            args: argsOf(part),
          },
          ...(sent === undefined ? {} : { thoughtSignature: sent }),
        });
      } else {
        for (const content of partsOf(part)) {
          written.push(signature === undefined ? content : { ...content, thoughtSignature: signature });
          signature = undefined;
        }
      }
    }
    return written;
  }
}

function push(contents: Content[], role: Content['role'], parts: readonly WirePart[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else contents.push({ role, parts: [...parts] });
}

/** User text for a place where the dialect demands a user turn and the caller has none. */
const nudge: WirePart = { text: 'Go on.' };

/** Precedes media of results: an image may hold instructions, and they are not the user's. */
const mediaSource = '[From the tool results above, not from the user:]';

function partsOf(part: Part): readonly WirePart[] {
  const content = encodeContent(part);
  return content ? [content] : [];
}

function remindersOf(part: Part): readonly WirePart[] {
  return part.type === 'text' && part.text !== '' ? [{ text: asReminder(part.text) }] : [];
}

function mediaOf({ parts }: PartOf<'tool-result'>): readonly WirePart[] {
  return parts.flatMap(partsOf).filter(({ text }) => text === undefined);
}

/** Signature of a text part; foreign state has been removed before. */
function signatureOf({ opaque }: PartOf<'thinking'>): string | undefined {
  return opaque?.state.kind === 'signature' ? opaque.state.value : undefined;
}

function argsOf({ kind, input }: PartOf<'tool-call'>): unknown {
  if (kind === 'custom') return { input };
  if (input.trim() === '') return {};
  // Gemini takes only an object: other input stays readable under a name that no tool has.
  return isRecord(parseJson(input)) ? new JsonText(input) : { _raw: input };
}

function extrasOf({ turns }: Conversation): ReadonlyMap<PartOf<'tool-call'>, JsonRecord> {
  return new Map(
    turns.flatMap((turn: Turn) => (turn.role === 'assistant' ? [...findExtras(turn.parts).ofCalls] : [])),
  );
}

/**
 * The id that goes out with each call and its result. An upstream that gives none refuses them, and one that gives them refuses a result
 * without: what it gave with other calls of the conversation says which of the two it is, else its model does.
 */
function idsOf(
  { turns }: Conversation,
  { callIds }: ModelTraits,
  extras: ReadonlyMap<PartOf<'tool-call'>, JsonRecord>,
): ReadonlyMap<PartOf<'tool-call'>, string> {
  const ids = new Map<PartOf<'tool-call'>, string>();
  if (callIds === 'never') return ids;
  const given = [...extras.values()].flatMap((extra) => readCallState(extra)?.id ?? []);
  if (given.length === 0 ? callIds !== 'always' : given.every((id) => id === '')) return ids;
  for (const { parts } of turns) {
    for (const part of parts) {
      if (part.type === 'tool-call') ids.set(part, readCallState(extras.get(part))?.id || part.id);
    }
  }
  return ids;
}
