// How does one event look as bytes? Writes server-sent events in every legal spelling (WHATWG HTML, section 9.2).

import type { SseStyle } from './behaviour.ts';

/** The bytes of event number `number` (from 1). */
export function writeSse(
  event: { event?: string | undefined; data: string },
  number: number,
  style: SseStyle,
): Buffer {
  const newline = style.newline ?? '\n';
  const colon = style.noSpace === true ? ':' : ': ';
  const name = event.event ?? style.eventName;
  const lines: string[] = [];
  if (style.comments === true) lines.push(`${colon}comment ${number}`, '');
  if (style.emptyData === true) lines.push('data:', '');
  if (style.retryMs !== undefined && number === 1) lines.push(`retry${colon}${style.retryMs}`);
  if (style.ids === true) lines.push(`id${colon}${number}`);
  if (name !== undefined) lines.push(`event${colon}${name}`);
  for (const line of dataLines(event.data, style)) lines.push(`data${colon}${line}`);
  lines.push('', '');
  const mark = style.byteOrderMark === true && number === 1 ? '\uFEFF' : '';
  return Buffer.from(mark + lines.join(newline));
}

function dataLines(data: string, style: SseStyle): string[] {
  if (style.multiline !== true || !data.startsWith('{')) return [data];
  return JSON.stringify(JSON.parse(data), null, 1).split('\n');
}
