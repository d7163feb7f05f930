// Our parts as the content of chat messages. One text alone is a string, which every upstream takes;
// several texts, or media, are a list of parts.

import type { Part, PartOf } from '../conversation.ts';
import { documentText } from '../openai/text-document.ts';
import { encodeDataUrl } from '../request/data-url.ts';
import { toolErrorMark } from '../tools/tool-error.ts';

/** Text of a tool message whose media follow in the next user message: tool messages take text only. */
const mediaNotice = '[An image or file, shown in the next user message.]';

/** Precedes media of tool results: an image may hold instructions, and they are not the user's. */
export const mediaSource: Part = { type: 'text', text: '[From the tool results above, not from the user:]' };

/** The content of a user message; undefined if it is empty. */
export function encodeUserContent(parts: readonly Part[]): unknown {
  const content = parts.flatMap((part) => encodePart(part) ?? []);
  if (content.length === 0) return undefined;
  const [first] = content;
  return content.length === 1 && first && 'text' in first ? first.text : content;
}

/** The text of all parts that have one, as it was said: pieces of one text have nothing between them. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => textOfPart(part) ?? []).join('');
}

export function encodeToolResult({ parts, isError }: PartOf<'tool-result'>): string {
  const lines = parts.flatMap((part) => textOfPart(part) ?? (isMedia(part) ? mediaNotice : []));
  return [...(isError ? [toolErrorMark] : []), ...lines].join('\n');
}

/** What of a result cannot stand in its message. */
export function mediaOf({ parts }: PartOf<'tool-result'>): readonly Part[] {
  return parts.filter((part) => isMedia(part) && textOfPart(part) === undefined);
}

function isMedia({ type }: Part): boolean {
  return type === 'image' || type === 'file' || type === 'audio';
}

function textOfPart(part: Part): string | undefined {
  if (part.type === 'file') return documentText(part);
  return part.type === 'text' || part.type === 'refusal' ? part.text : undefined;
}

type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: Record<string, unknown> }
  | { readonly type: 'file'; readonly file: Record<string, unknown> }
  | { readonly type: 'input_audio'; readonly input_audio: Record<string, unknown> };

function encodePart(part: Part): ContentPart | undefined {
  const text = textOfPart(part);
  if (text !== undefined) return { type: 'text', text };
  switch (part.type) {
    case 'image': {
      const url = part.source.kind === 'url' ? part.source.url : encodeDataUrl(part.source);
      // Only responses upstreams know images in their original size.
      const detail = part.detail === 'original' ? 'high' : part.detail;
      return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } };
    }
    case 'file':
      if (part.source.kind === 'url') return undefined;
      return {
        type: 'file',
        // OpenAI refuses files without a name.
        file: { filename: part.filename ?? 'document', file_data: encodeDataUrl(part.source) },
      };
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
    default:
      return undefined;
  }
}
