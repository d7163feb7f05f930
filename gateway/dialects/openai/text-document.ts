// How is a text file sent to a dialect that takes text only? As its title and its content.

import type { PartOf } from '../conversation.ts';

/** Undefined if it is not a text, or not in the request. */
export function documentText({ source, filename }: PartOf<'file'>): string | undefined {
  if (source.kind !== 'base64' || !source.mediaType.startsWith('text/')) return undefined;
  const text = Buffer.from(source.data, 'base64').toString('utf8');
  return filename === undefined ? text : `${filename}\n${text}`;
}
