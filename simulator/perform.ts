// How is an answer delivered: paced, framed, and broken where the script says so?

import type { Call, Ending } from './counts.ts';
import type { Dialect, Exchange, Frame, Stamp, WireError } from './dialect.ts';
import type { Directives, Fault } from './directives.ts';
import { faultName } from './directives.ts';
import type { Answer, Usage } from './prompt.ts';
import type { Reply } from './reply.ts';

type Performance = {
  call: Call;
  reply: Reply;
  dialect: Pick<Dialect, 'errorBody' | 'errorFrames' | 'responseHeaders'>;
  exchange: Exchange;
  answer: Answer;
  stamp: Stamp;
  directives: Directives;
  /** The fault of this very call, if its turn has come. */
  fault: Fault | undefined;
  /** Says how the call ended. Called just before the last bytes go, so that a client with those bytes finds it in the log. */
  end(ending: Ending): void;
};

/** Delivers the answer to its end. Throws ClientGone when the client leaves first. */
export async function perform(show: Performance): Promise<void> {
  if (show.fault !== undefined) show.call.fault = faultName(show.fault);
  if (show.directives.delayMs !== undefined) await show.reply.pause(show.directives.delayMs);
  if (show.fault !== undefined && (await failAtOnce(show, show.fault))) return;
  await (show.exchange.isStream ? performStream(show) : performPlain(show));
}

/** Sends an error as a JSON body. */
export function sendError(
  reply: Reply,
  call: Call,
  dialect: Pick<Dialect, 'errorBody' | 'responseHeaders'>,
  error: WireError,
  options: { requestId: string; retryAfterS?: number | undefined; end: () => void },
): void {
  const body = JSON.stringify(dialect.errorBody(error, options.requestId));
  const retry = options.retryAfterS === undefined ? {} : { 'retry-after': String(options.retryAfterS) };
  sendWhole(
    reply,
    call,
    error.status,
    body,
    jsonType,
    { ...dialect.responseHeaders(options.requestId), ...retry },
    options.end,
  );
}

/** The error that a scripted fault tells of. */
function scriptedError(status: number, directives: Directives): WireError {
  return {
    status,
    message: directives.message ?? `The directives of the simulator say to answer ${status}.`,
    type: directives.type,
    code: directives.code,
    isScripted: true,
  };
}

const jsonType = 'application/json';

function sendWhole(
  reply: Reply,
  call: Call,
  status: number,
  body: string,
  type: string,
  headers: Record<string, string>,
  end: () => void,
): void {
  call.status = status;
  reply.head(status, { ...headers, 'content-type': type, 'content-length': String(Buffer.byteLength(body)) });
  end();
  reply.end(body);
}

// The faults that look the same in a stream and in a plain answer. Answers whether the call is over.
async function failAtOnce(show: Performance, fault: Fault): Promise<boolean> {
  const { reply, call, stamp, dialect, directives, exchange } = show;
  const headers = dialect.responseHeaders(stamp.requestId);
  switch (fault.kind) {
    case 'error':
      failWithStatus(show, fault.status, `error-${fault.status}`);
      return true;
    case 'error-first':
    case 'error-after':
      // A plain answer has no events: the same error comes as a status.
      if (exchange.isStream) return false;
      failWithStatus(show, directives.status ?? 500, fault.kind);
      return true;
    case 'hang':
      return reply.untilGone();
    case 'hang-after-headers':
      call.status = 200;
      reply.head(200, { ...headers, ...(exchange.isStream ? streamHeaders : { 'content-type': jsonType }) });
      return reply.untilGone();
    case 'reset-before-headers':
      show.end('reset-before-headers');
      reply.reset();
      return true;
    case 'html':
      sendWhole(reply, call, 200, htmlPage, 'text/html; charset=utf-8', headers, () => show.end('html'));
      return true;
    case 'empty':
      sendWhole(
        reply,
        call,
        200,
        '',
        exchange.isStream ? streamHeaders['content-type'] : jsonType,
        headers,
        () => show.end('empty'),
      );
      return true;
    case 'redirect':
      sendWhole(reply, call, 302, '', jsonType, { ...headers, location: 'http://127.0.0.1:9/v1' }, () =>
        show.end('redirect'),
      );
      return true;
    default:
      return false;
  }
}

function failWithStatus(show: Performance, status: number, ending: Ending): void {
  const { reply, call, dialect, directives, stamp } = show;
  sendError(reply, call, dialect, scriptedError(status, directives), {
    requestId: stamp.requestId,
    retryAfterS: directives.retryAfterS,
    end: () => show.end(ending),
  });
}

const htmlPage = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';

const streamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

async function performPlain(show: Performance): Promise<void> {
  const { reply, call, dialect, exchange, answer, stamp, directives, fault } = show;
  countInput(call, answer.usage);
  await generate(show);
  call.tokens = { ...answer.usage };
  call.status = 200;
  const headers = { ...dialect.responseHeaders(stamp.requestId), 'content-type': jsonType };
  const body = JSON.stringify(exchange.plain(answer, stamp));
  const announced = { ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const half = body.slice(0, body.length / 2);
  switch (fault?.kind) {
    case 'cut-after':
    case 'truncated': {
      const { kind } = fault;
      return sendWhole(reply, call, 200, half, jsonType, headers, () => show.end(kind));
    }
    case 'garbage-at':
      return sendWhole(reply, call, 200, garbage, jsonType, headers, () => show.end('garbage-at'));
    case 'fin-after':
    case 'reset-after':
    case 'stall-after':
      reply.head(200, announced);
      await reply.write(half);
      await reply.flush();
      if (fault.kind === 'stall-after') return reply.untilGone();
      show.end(fault.kind);
      return fault.kind === 'fin-after' ? reply.fin() : reply.reset();
    default:
      call.isUsageSent = directives.hasNoUsage !== true;
      return sendWhole(reply, call, 200, body, jsonType, headers, () => show.end('complete'));
  }
}

// The time a model would take; a client that leaves in between pays for the tokens until then.
async function generate({ reply, call, answer, directives }: Performance): Promise<void> {
  if (directives.firstMs !== undefined) await reply.pause(directives.firstMs);
  if (directives.paceMs === undefined) return;
  for (let token = 0; token < answer.usage.output; token += 1) {
    await reply.pause(directives.paceMs);
    call.tokens.output = token + 1;
    call.tokens.reasoning = Math.min(token + 1, answer.usage.reasoning);
  }
}

function countInput(call: Call, usage: Usage): void {
  call.tokens = { ...usage, output: 0, reasoning: 0 };
}

const garbage = '{"id":"garbage","choices":[{"delta":';

async function performStream(show: Performance): Promise<void> {
  const { reply, call, dialect, answer, stamp, directives, fault } = show;
  call.status = 200;
  reply.head(200, { ...dialect.responseHeaders(stamp.requestId), ...streamHeaders });
  countInput(call, answer.usage);
  const out = makeEventWriter(reply, directives);
  if (fault?.kind === 'error-first') return tellError(show, out);
  const limit = fault !== undefined && 'tokens' in fault ? fault.tokens : Number.POSITIVE_INFINITY;
  let hasSpoken = false;
  let event = 0;
  for (const frame of show.exchange.stream(answer, stamp)) {
    const isPastLimit = call.tokens.output + frame.outputTokens > limit || frame.phase !== 'body';
    if (fault !== undefined && 'tokens' in fault && isPastLimit) return breakOff(show, fault.kind, out);
    if (fault?.kind === 'no-done' && frame.phase === 'last') return endCleanly(show, 'no-done', out);
    if (frame.outputTokens > 0) {
      const waitMs = hasSpoken ? directives.paceMs : directives.firstMs;
      if (waitMs !== undefined) {
        await out.drain();
        await reply.pause(waitMs);
      }
      if (!hasSpoken && fault?.kind === 'huge-event')
        await out.send({ ...frame, data: hugeData(fault.bytes) });
      hasSpoken = true;
    }
    event += 1;
    if (fault?.kind === 'truncated' && call.tokens.output + frame.outputTokens >= answer.usage.output) {
      await out.raw(
        frameText({ ...frame, data: frame.data.slice(0, frame.data.length / 2) }, '\n').trimEnd(),
      );
      return endCleanly(show, 'truncated', out);
    }
    const sent = fault?.kind === 'garbage-at' && fault.event === event ? { ...frame, data: garbage } : frame;
    call.tokens.output += frame.outputTokens;
    call.tokens.reasoning += frame.reasoningTokens;
    await out.send(sent);
  }
  call.isUsageSent = directives.hasNoUsage !== true;
  return endCleanly(show, endingOfWhole(fault, event), out);
}

// A stream with garbage or a giant in it came to its end, but it was not what a client would call complete.
function endingOfWhole(fault: Fault | undefined, events: number): Ending {
  if (fault?.kind === 'garbage-at' && fault.event <= events) return 'garbage-at';
  return fault?.kind === 'huge-event' ? 'huge-event' : 'complete';
}

type Breaking = Extract<Fault, { tokens: number }>['kind'];

async function breakOff(show: Performance, kind: Breaking, out: EventWriter): Promise<void> {
  const { reply } = show;
  if (kind === 'cut-after') return endCleanly(show, kind, out);
  if (kind === 'error-after') return tellError(show, out);
  await out.drain();
  await reply.flush();
  if (kind === 'stall-after') return reply.untilGone();
  show.end(kind);
  return kind === 'fin-after' ? reply.fin() : reply.reset();
}

async function tellError(show: Performance, out: EventWriter): Promise<void> {
  const { dialect, directives, stamp, fault } = show;
  const error = scriptedError(directives.status ?? 500, directives);
  for (const frame of dialect.errorFrames(error, stamp, out.framesSent())) await out.send(frame);
  return endCleanly(show, fault?.kind === 'error-first' ? 'error-first' : 'error-after', out);
}

function endCleanly(show: Performance, ending: Ending, out: EventWriter): void {
  show.end(ending);
  show.reply.end(out.rest());
}

type EventWriter = {
  send(frame: Frame): Promise<void>;
  raw(text: string): Promise<void>;
  /** Hands everything gathered so far to the connection. */
  drain(): Promise<void>;
  framesSent(): number;
  /** Takes what is gathered and not yet handed over. */
  rest(): string;
};

// Events without a pause between them are gathered: thousands of small writes would measure the kernel, not the client.
function makeEventWriter(reply: Reply, directives: Directives): EventWriter {
  const lineEnd = directives.hasCrlf ? '\r\n' : '\n';
  const isPaced = directives.paceMs !== undefined;
  let gathered = '';
  let count = 0;
  const take = () => {
    const text = gathered;
    gathered = '';
    return text;
  };
  const drain = () => reply.write(take());
  const raw = async (text: string) => {
    gathered += text;
    if (isPaced || gathered.length >= gatherMax) await drain();
  };
  return {
    send: (frame) => {
      count += 1;
      const noise = directives.hasNoise ? noiseText(count, lineEnd) : '';
      return raw(noise + frameText(frame, lineEnd));
    },
    raw,
    drain,
    framesSent: () => count,
    rest: take,
  };
}

const gatherMax = 16384;

function frameText(frame: Frame, lineEnd: string): string {
  const event = frame.event === undefined ? '' : `event: ${frame.event}${lineEnd}`;
  return `${event}data: ${frame.data}${lineEnd}${lineEnd}`;
}

function noiseText(count: number, lineEnd: string): string {
  return [`: noise ${count}`, '', `id: ${count}`, 'retry: 3000', '', ''].join(lineEnd);
}

function hugeData(bytes: number): string {
  const [head, tail] = ['{"huge":"', '"}'];
  return `${head}${'x'.repeat(Math.max(0, bytes - head.length - tail.length))}${tail}`;
}
