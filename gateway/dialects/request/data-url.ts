// What does a `data:` address hold? Only base64 is taken: it is what every dialect writes.

import type { MediaSource } from '../conversation.ts';

/** Undefined if it is no base64 data address. */
export function parseDataUrl(url: string): Extract<MediaSource, { kind: 'base64' }> | undefined {
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.max(comma, 0)).toLowerCase();
  if (!head.startsWith('data:') || !head.endsWith(';base64')) return undefined;
  const [mediaType = ''] = head.slice('data:'.length).split(';');
  if (!mediaType.includes('/')) return undefined;
  return { kind: 'base64', mediaType: properTypes.get(mediaType) ?? mediaType, data: url.slice(comma + 1) };
}

/** Names that are no names, but many write them. */
const properTypes: ReadonlyMap<string, string> = new Map([['image/jpg', 'image/jpeg']]);

export function encodeDataUrl({ mediaType, data }: Extract<MediaSource, { kind: 'base64' }>): string {
  return `data:${mediaType};base64,${data}`;
}

/** The image types that every provider takes. */
export const commonImageTypes: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/gif',
  'image/webp',
]);
