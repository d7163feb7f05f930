// What has been answered so far, and did it end as it promised? An incremental HTTP/1.1 response parser that hides
// nothing of the framing (RFC 9112, sections 4-7).

export interface Head {
  status: number;
  reason: string;
  /** Lower-case names; a repeated header is joined by a comma. */
  headers: Readonly<Record<string, string>>;
  rawHeaders: readonly (readonly [name: string, value: string])[];
}

/**
 * How the body ended. Good ends: `last-chunk`, `length-complete`, `no-body`; `close-delimited` is a FIN where only a
 * FIN can mark the end. Broken ones: `fin-early` (a FIN before the promised end), `reset`, `malformed`.
 */
export type BodyEnding =
  | 'last-chunk'
  | 'length-complete'
  | 'no-body'
  | 'close-delimited'
  | 'fin-early'
  | 'reset'
  | 'malformed';

export interface AnswerSink {
  onInformational(head: Head): void;
  onHead(head: Head): void;
  /** With chunked framing: exactly one HTTP chunk, however it arrived. Else: what one read gave. */
  onBody(bytes: Buffer): void;
  onEnd(ending: BodyEnding): void;
}

export interface AnswerParser {
  /** Gives back what lies after the end of this answer. */
  feed(bytes: Buffer): Buffer;
  /** The connection ended. */
  close(how: 'fin' | 'reset'): void;
}

type State =
  | { at: 'head' }
  | { at: 'length'; left: number }
  | { at: 'chunk-size' }
  | { at: 'chunk-data'; size: number }
  | { at: 'trailers' }
  | { at: 'until-close' }
  | { at: 'end' };

export function makeAnswerParser(sink: AnswerSink): AnswerParser {
  let state: State = { at: 'head' };
  let buffered: Buffer = Buffer.alloc(0);
  /** Of a chunk that is not whole yet: joined once, however many reads it takes. */
  let more: Buffer[] = [];
  let moreBytes = 0;

  function join(): void {
    if (more.length === 0) return;
    buffered = Buffer.concat([buffered, ...more]);
    more = [];
    moreBytes = 0;
  }

  function end(ending: BodyEnding): void {
    state = { at: 'end' };
    sink.onEnd(ending);
  }

  /** False: more bytes are needed. */
  function step(): boolean {
    switch (state.at) {
      case 'head':
        return stepHead();
      case 'length': {
        if (buffered.length === 0) return false;
        const bytes = take(Math.min(state.left, buffered.length));
        state.left -= bytes.length;
        const isDone = state.left === 0;
        sink.onBody(bytes);
        if (isDone) end('length-complete');
        return true;
      }
      case 'chunk-size': {
        const line = takeLine();
        if (line === undefined) return false;
        if (!/^[0-9a-f]+(;.*)?$/i.test(line)) end('malformed');
        else {
          const size = Number.parseInt(line, 16);
          state = size === 0 ? { at: 'trailers' } : { at: 'chunk-data', size };
        }
        return true;
      }
      case 'chunk-data': {
        if (buffered.length < state.size + 2) return false;
        const bytes = take(state.size);
        const isTerminated = take(2).equals(Buffer.from('\r\n'));
        state = { at: 'chunk-size' };
        sink.onBody(bytes);
        if (!isTerminated) end('malformed');
        return true;
      }
      case 'trailers': {
        const line = takeLine();
        if (line === undefined) return false;
        if (line === '') end('last-chunk');
        return true;
      }
      case 'until-close':
        if (buffered.length > 0) sink.onBody(take(buffered.length));
        return false;
      case 'end':
        return false;
    }
  }

  function stepHead(): boolean {
    const at = buffered.indexOf('\r\n\r\n');
    if (at < 0) return false;
    const head = parseHead(take(at + 4).toString('latin1'));
    if (head === undefined) {
      end('malformed');
      return true;
    }
    if (head.status >= 100 && head.status < 200) {
      sink.onInformational(head);
      return true;
    }
    const length = head.headers['content-length'];
    if (head.headers['transfer-encoding']?.toLowerCase().endsWith('chunked') === true)
      state = { at: 'chunk-size' };
    else if (length !== undefined && Number(length) > 0) state = { at: 'length', left: Number(length) };
    else if (length === undefined && head.status !== 204 && head.status !== 304)
      state = { at: 'until-close' };
    else state = { at: 'end' };
    sink.onHead(head);
    if (state.at === 'end') sink.onEnd('no-body');
    return true;
  }

  function take(bytes: number): Buffer {
    const taken = buffered.subarray(0, bytes);
    buffered = buffered.subarray(bytes);
    return taken;
  }

  function takeLine(): string | undefined {
    const at = buffered.indexOf('\r\n');
    return at < 0
      ? undefined
      : take(at + 2)
          .toString('latin1')
          .slice(0, -2);
  }

  return {
    feed(bytes) {
      more.push(bytes);
      moreBytes += bytes.length;
      if (state.at === 'chunk-data' && buffered.length + moreBytes < state.size + 2) return Buffer.alloc(0);
      join();
      while (step());
      return state.at === 'end' ? take(buffered.length) : Buffer.alloc(0);
    },
    close(how) {
      if (state.at === 'end') return;
      join();
      // The beginning of a chunk that never became whole was received all the same.
      if (state.at === 'chunk-data' && buffered.length > 0)
        sink.onBody(take(Math.min(state.size, buffered.length)));
      if (how === 'reset') end('reset');
      else end(state.at === 'until-close' ? 'close-delimited' : 'fin-early');
    },
  };
}

function parseHead(text: string): Head | undefined {
  const [statusLine = '', ...lines] = text.trimEnd().split('\r\n');
  const match = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(statusLine);
  if (match === null) return undefined;
  const rawHeaders = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const headers: Record<string, string> = {};
  for (const [rawName, value] of rawHeaders) {
    const name = rawName.toLowerCase();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { status: Number(match[1]), reason: match[2] ?? '', headers, rawHeaders };
}
