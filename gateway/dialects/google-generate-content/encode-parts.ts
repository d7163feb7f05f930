// Our media and texts as parts.

import type { Part, PartOf } from '../conversation.ts';
import { documentText } from '../openai/text-document.ts';

export type WirePart = Readonly<Record<string, unknown>>;

/** Undefined for an empty part: Gemini refuses a part without data. */
export function encodeContent(part: Part): WirePart | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? undefined : { text: part.text };
    case 'image':
    case 'file':
      return encodeMedia(part);
    case 'audio':
      return {
        inlineData: { mimeType: audioTypes.get(part.format) ?? `audio/${part.format}`, data: part.data },
      };
    case 'thinking':
    case 'tool-call':
    case 'tool-result':
      return undefined;
  }
}

function encodeMedia(part: PartOf<'image' | 'file'>): WirePart {
  const text = part.type === 'file' ? documentText(part) : undefined;
  if (text !== undefined) return { text };
  const { source } = part;
  if (source.kind === 'base64') return { inlineData: { mimeType: source.mediaType, data: source.data } };
  // The type is required beside an address; the upstream judges whether it fetches that.
  return { fileData: { mimeType: typeOfAddress(source.url, part.type), fileUri: source.url } };
}

const audioTypes: ReadonlyMap<string, string> = new Map([['mp3', 'audio/mp3']]);

function typeOfAddress(url: string, type: 'image' | 'file'): string {
  const [, ending = ''] = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url) ?? [];
  const known = typesByEnding.get(ending.toLowerCase());
  return known ?? (type === 'image' ? 'image/jpeg' : 'application/pdf');
}

const typesByEnding: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
]);
