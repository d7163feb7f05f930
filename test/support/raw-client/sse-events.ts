// Which server-sent events has a client received, and when? Unlike a browser it reports comments and unfinished
// events too, because a test must see everything that was sent (WHATWG HTML, section 9.2).

import { StringDecoder } from 'node:string_decoder';

export interface SseEvent {
  type: 'event' | 'comment';
  /** The last `event:` line. */
  name: string | undefined;
  /** The `data:` lines, joined; undefined without any. For a comment: its text. */
  data: string | undefined;
  id: string | undefined;
  retry: string | undefined;
  /** The lines as sent, without the line ends. */
  lines: readonly string[];
  /** Monotonic, as of `performance.now()`. */
  atMs: number;
}

export interface SseSplitter {
  feed(bytes: Buffer, atMs: number): SseEvent[];
  /** The body has ended: a CR at its very end is a line end after all. */
  end(atMs: number): SseEvent[];
  /** What is left after the last blank line: an event that was never finished. */
  rest(): string;
}

export function makeSseSplitter(): SseSplitter {
  const decoder = new StringDecoder('utf8');
  let text = '';
  /** After the text, without a line end: joined once, however many reads a line takes. */
  let more: string[] = [];
  let lines: string[] = [];
  let isFirst = true;

  function join(): void {
    text = [text, ...more].join('');
    more = [];
  }

  function cut(atMs: number, isEnd: boolean): SseEvent[] {
    const events: SseEvent[] = [];
    for (;;) {
      const end = findLineEnd(text, isEnd);
      if (end === undefined) return events;
      const line = text.slice(0, end.at);
      text = text.slice(end.at + end.length);
      if (line !== '') lines.push(line);
      else if (lines.length > 0) {
        events.push(readEvent(lines, atMs));
        lines = [];
      }
    }
  }

  return {
    feed(bytes, atMs) {
      const piece = decoder.write(bytes);
      if (piece === '') return [];
      more.push(isFirst && piece.startsWith('\uFEFF') ? piece.slice(1) : piece);
      isFirst = false;
      if (!text.endsWith('\r') && !/[\r\n]/.test(piece)) return [];
      join();
      return cut(atMs, false);
    },
    end(atMs) {
      join();
      return cut(atMs, true);
    },
    rest: () => [...lines, [text, ...more].join('')].join('\n'),
  };
}

/** A CR at the very end may be the first half of a CRLF: the line ends only when the next character is known. */
function findLineEnd(text: string, isEnd: boolean): { at: number; length: number } | undefined {
  const at = text.search(/[\r\n]/);
  if (at < 0) return undefined;
  if (text[at] === '\n') return { at, length: 1 };
  if (at + 1 === text.length) return isEnd ? { at, length: 1 } : undefined;
  return { at, length: text[at + 1] === '\n' ? 2 : 1 };
}

function readEvent(lines: readonly string[], atMs: number): SseEvent {
  const fields = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  const isComment = fields.size === 1 && fields.has('');
  return {
    type: isComment ? 'comment' : 'event',
    name: fields.get('event')?.at(-1),
    data: fields.get(isComment ? '' : 'data')?.join('\n'),
    id: fields.get('id')?.at(-1),
    retry: fields.get('retry')?.at(-1),
    lines,
    atMs,
  };
}
