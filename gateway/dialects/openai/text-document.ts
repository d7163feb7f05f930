// What does a text file say, where a dialect takes texts only? Its title, and what stands in it.

import type { PartOf } from '../conversation.ts';

/** Undefined where it is not a text, or not at hand. */
export function documentText({ source, filename }: PartOf<'file'>): string | undefined {
  if (source.kind !== 'base64' || !source.mediaType.startsWith('text/')) return undefined;
  const text = Buffer.from(source.data, 'base64').toString('utf8');
  return filename === undefined ? text : `${filename}\n${text}`;
}
