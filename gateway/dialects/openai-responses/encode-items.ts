// Our turns as input items.

import { wellFormedJson } from '../../json/well-formed.ts';
import type { Conversation, MediaSource, Part, PartOf, Turn } from '../conversation.ts';
import { documentText } from '../openai/text-document.ts';
import { encodeDataUrl } from '../request/data-url.ts';
import { toolErrorMark } from '../tools/tool-error.ts';
import { fitToolIds } from '../tools/tool-ids.ts';
import type { ToolNames } from '../tools/tool-names.ts';

/** @param conversation Tidied: results follow their calls, and opaque state is this provider's own. */
export function encodeItems(conversation: Conversation, names: ToolNames): readonly unknown[] {
  const fitId = fitToolIds(conversation, callIdLengthMax);
  const customIds = new Set<string>();
  const items: unknown[] = [];
  for (const { role, parts } of conversation.turns) {
    let content: unknown[] = [];
    const endMessage = (): void => {
      if (content.length > 0) items.push({ type: 'message', role: roleOf[role], content });
      content = [];
    };
    // Reasoning that nothing came of is refused.
    const thoughtsMax = parts.findLastIndex(({ type }) => type !== 'thinking');
    for (const part of parts.slice(0, thoughtsMax + 1)) {
      const shown = encodeContent(part, role);
      if (shown) content.push(shown);
      else {
        endMessage();
        if (part.type === 'tool-call') {
          // Ids may be used again, for a tool of the other kind.
          if (part.kind === 'custom') customIds.add(part.id);
          else customIds.delete(part.id);
          items.push(encodeCall(part, fitId(part.id), names));
        } else if (part.type === 'tool-result') {
          items.push(encodeResult(part, fitId(part.id), customIds.has(part.id)));
        } else if (part.type === 'thinking') items.push(...encodeThinking(part));
      }
    }
    endMessage();
  }
  return items;
}

const callIdLengthMax = 64;

const roleOf = { system: 'developer', user: 'user', assistant: 'assistant' } as const;

/** Undefined for a part that becomes its own item, or nothing. */
function encodeContent(part: Part, role: Turn['role']): unknown {
  switch (part.type) {
    case 'text':
      return role === 'assistant'
        ? { type: 'output_text', text: part.text, annotations: [] }
        : { type: 'input_text', text: part.text };
    case 'refusal':
      return role === 'assistant'
        ? { type: 'refusal', refusal: part.text }
        : { type: 'input_text', text: part.text };
    case 'image':
      return { type: 'input_image', detail: part.detail ?? 'auto', image_url: addressOf(part.source) };
    case 'file':
      return encodeFile(part);
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    default:
      return undefined;
  }
}

function encodeFile(file: PartOf<'file'>): unknown {
  const text = documentText(file);
  if (text !== undefined) return { type: 'input_text', text };
  const { source, filename } = file;
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url };
  // Data without a name is refused.
  return { type: 'input_file', filename: filename ?? 'file.pdf', file_data: encodeDataUrl(source) };
}

function addressOf(source: MediaSource): string {
  return source.kind === 'url' ? source.url : encodeDataUrl(source);
}

function encodeCall(call: PartOf<'tool-call'>, id: string, names: ToolNames): unknown {
  const named = {
    call_id: id,
    name: names.wireName(call),
    ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
  };
  return call.kind === 'custom'
    ? { type: 'custom_tool_call', ...named, input: call.input }
    : { type: 'function_call', ...named, arguments: wellFormedJson(call.input) };
}

function encodeResult({ parts, isError }: PartOf<'tool-result'>, id: string, isCustom: boolean): unknown {
  const marked: readonly Part[] = isError ? [{ type: 'text', text: toolErrorMark }, ...parts] : parts;
  const isText = marked.every(({ type }) => type === 'text');
  return {
    type: isCustom ? 'custom_tool_call_output' : 'function_call_output',
    call_id: id,
    output: isText
      ? marked.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
      : marked.flatMap((part) => encodeContent(part, 'user') ?? []),
  };
}

/** Only with this provider's own state; the text alone is nothing it knows. */
function encodeThinking({ text, opaque }: PartOf<'thinking'>): readonly unknown[] {
  const state = opaque?.state;
  if (state?.kind !== 'encrypted') return [];
  return [
    {
      type: 'reasoning',
      ...(state.id === undefined ? {} : { id: state.id }),
      summary: text === '' ? [] : [{ type: 'summary_text', text }],
      encrypted_content: state.value,
    },
  ];
}
