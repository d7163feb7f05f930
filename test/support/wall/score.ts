// Which bytes, pauses and ends make up a behaviour? Pure: one behaviour and one request in, a list of acts out.

import type { Answer, Behaviour, Point } from './behaviour.ts';
import { type Body, bodyLength, buildBody, divideItems, eventPiece, type ScoredCall } from './body.ts';
import { type Act, divideActs, frameBody, frameBytes, writeAct, writeHead } from './framing.ts';
import type { Said, Voice, VoiceEvent } from './voice.ts';

export interface Score {
  acts: readonly Act[];
  /** What is generated; undefined for a behaviour that generates nothing. */
  said: Said | undefined;
  /** From when on all of `said` has been generated: from the first byte, at the end of the acts, or never. */
  wholeAt: 'start' | 'end' | 'never';
}

/** Throws a RangeError when the behaviour cannot happen in this answer, such as a cut after its end. */
export function scoreBehaviour(behaviour: Behaviour, voice: Voice, call: ScoredCall): Score {
  const answered = (answer: Answer = {}): Body => buildBody(answer, voice, call);
  const streamed = (answer: Answer = {}): Body => answered({ ...answer, mode: 'stream' });
  switch (behaviour.type) {
    case 'answer':
      return wholeScore(answered(behaviour));
    case 'status':
      return statusScore(behaviour, voice, call);
    case 'redirect':
      return messageScore(behaviour.status ?? 307, { location: behaviour.location }, '', call);
    case 'hang':
      if (behaviour.when === 'before-headers') return silentScore([{ type: 'hang' }]);
      return brokenScore(answered(behaviour.answer), { events: 0 }, { type: 'hang' });
    case 'reset':
      if (behaviour.after === undefined) return silentScore([{ type: 'break', how: 'reset' }]);
      return brokenScore(answered(behaviour.answer), behaviour.after, { type: 'break', how: 'reset' });
    case 'cut':
      return brokenScore(
        answered({ ...behaviour.answer, ...(behaviour.framing && { framing: behaviour.framing }) }),
        behaviour.after,
        { type: 'break', how: 'fin' },
      );
    case 'stall':
      return stallScore(behaviour, answered(behaviour.answer));
    case 'error-event':
      return errorEventScore(behaviour, voice, streamed(behaviour.answer));
    case 'garbage-event': {
      const body = streamed(behaviour.answer);
      const whole = voice.contentEvent(body.said, 'garbage', behaviour.atEvent - 1);
      return insertScore(body, behaviour.atEvent, {
        ...whole,
        segment: 'finish',
        data: behaviour.data ?? whole.data.slice(0, -12),
        outputTokens: 0,
      });
    }
    case 'oversized-event': {
      const body = streamed(behaviour.answer);
      const text = 'x'.repeat(behaviour.bytes ?? 1024 * 1024 + 1);
      const atEvent = behaviour.atEvent ?? 2;
      return insertScore(body, atEvent, voice.contentEvent(body.said, text, atEvent - 1));
    }
    case 'html': {
      const page = behaviour.body ?? '<!doctype html><title>Sign in</title><h1>Please sign in</h1>';
      const headers = { 'content-type': 'text/html; charset=utf-8' };
      return messageScore(behaviour.status ?? 200, headers, page, call);
    }
    case 'empty': {
      const headers = { 'content-type': behaviour.contentType ?? 'application/json' };
      return messageScore(behaviour.status ?? 200, headers, '', call);
    }
    case 'truncated-json':
      return truncatedScore(answered({ ...behaviour.answer, mode: 'plain' }), behaviour.bytes, call);
    case 'huge-headers':
      return wholeScore(
        answered({
          ...behaviour.answer,
          headers: { ...behaviour.answer?.headers, ...hugeHeaders(behaviour.bytes) },
        }),
      );
    case 'informational': {
      const next = scoreBehaviour(behaviour.next ?? { type: 'answer' }, voice, call);
      const early = (behaviour.statuses ?? [103]).map((status) =>
        writeAct(writeHead(status, status === 103 ? { link: '</early>; rel=preload' } : {})),
      );
      return { ...next, acts: [...early, ...next.acts] };
    }
    case 'raw':
      return silentScore([writeAct(Buffer.from(behaviour.bytes)), endOfRaw(behaviour.followedBy)]);
    case 'stale-reuse':
      if (!call.isConnectionReused) return scoreBehaviour(behaviour.fresh ?? { type: 'answer' }, voice, call);
      return silentScore([{ type: 'break', how: behaviour.how ?? 'fin' }]);
  }
}

function wholeScore(body: Body): Score {
  return {
    acts: [...frameBody(body, { isEnded: true }), endOf(body)],
    said: body.said,
    wholeAt: wholeAt(body, 'end'),
  };
}

/** A provider has generated all of a plain answer before it writes a byte. */
function wholeAt(body: Body, streamed: 'end' | 'never'): Score['wholeAt'] {
  return body.isStream ? streamed : 'start';
}

function endOf(body: Body): Act {
  switch (body.answer.afterwards ?? 'keep-alive') {
    case 'keep-alive':
      return { type: 'complete', connection: body.framing === 'close' ? 'fin' : 'keep' };
    case 'close':
    case 'fin-unannounced':
      return { type: 'complete', connection: 'fin' };
    case 'reset-unannounced':
      return { type: 'complete', connection: 'reset' };
  }
}

function silentScore(acts: readonly Act[]): Score {
  return { acts, said: undefined, wholeAt: 'never' };
}

function statusScore(
  behaviour: Extract<Behaviour, { type: 'status' }>,
  voice: Voice,
  call: ScoredCall,
): Score {
  const body = behaviour.body ?? voice.errorBody(behaviour.status, behaviour.error ?? {});
  const isText = typeof body === 'string';
  const headers = { 'content-type': isText ? 'text/plain' : 'application/json', ...behaviour.headers };
  const score = messageScore(behaviour.status, headers, isText ? body : JSON.stringify(body), call);
  if (behaviour.beforeHeaders === undefined) return score;
  return { ...score, acts: [{ type: 'wait', delay: behaviour.beforeHeaders }, ...score.acts] };
}

/** A small complete message that is no answer: nothing is generated. */
function messageScore(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
  call: ScoredCall,
): Score {
  const bytes = Buffer.from(body);
  const head = writeHead(status, {
    'x-request-id': `wall-request-${call.number}`,
    ...headers,
    'content-length': String(bytes.length),
  });
  const write = { ...writeAct(Buffer.concat([head, bytes])), bodyBytes: bytes.length };
  return silentScore([write, { type: 'complete', connection: 'keep' }]);
}

function truncatedScore(body: Body, bytes: number | undefined, call: ScoredCall): Score {
  const whole = Buffer.concat(body.items.flatMap((item) => (item.type === 'piece' ? [item.bytes] : [])));
  const kept = bytes ?? Math.floor(whole.length / 2);
  if (kept >= whole.length) {
    throw new RangeError(`The body has ${whole.length} bytes: with ${kept} of them nothing is truncated`);
  }
  const score = messageScore(200, body.headers, whole.subarray(0, kept), call);
  return { ...score, said: body.said, wholeAt: 'start' };
}

function brokenScore(body: Body, after: Point, end: Act): Score {
  return {
    acts: [...divideFramed(body, after).before, end],
    said: body.said,
    wholeAt: wholeAt(body, 'never'),
  };
}

/** The framed answer at both sides of a point. Throws a RangeError when nothing would be missing without `after`. */
function divideFramed(body: Body, point: Point): { before: Act[]; after: Act[] } {
  const whole = frameBody(body, { isEnded: true });
  if ('wireBytes' in point) {
    const [before, after] = divideActs(whole, point.wireBytes);
    return { before, after };
  }
  const [items, rest] = divideItems(body, point);
  if (bodyLength(rest) === 0 && body.framing !== 'chunked') {
    // A length or a close would mark this as the regular end: no fault at all.
    throw new RangeError(`With ${body.framing} framing nothing is missing behind ${JSON.stringify(point)}`);
  }
  const lengthBytes = bodyLength(body.items);
  const before = frameBody({ ...body, items }, { isEnded: false, lengthBytes });
  const [, ...after] = frameBody({ ...body, items: rest }, { isEnded: true });
  return { before, after };
}

function stallScore(behaviour: Extract<Behaviour, { type: 'stall' }>, body: Body): Score {
  const { before, after } = divideFramed(body, behaviour.after);
  if (behaviour.for === undefined) {
    const ping = behaviour.pingEveryMs !== undefined && {
      ping: { everyMs: behaviour.pingEveryMs, bytes: frameBytes(Buffer.from(': ping\n\n'), body.framing) },
    };
    return { acts: [...before, { type: 'hang', ...ping }], said: body.said, wholeAt: wholeAt(body, 'never') };
  }
  const wait: Act = { type: 'wait', delay: behaviour.for };
  const then = behaviour.followedBy ?? 'go-on';
  if (then === 'go-on') {
    return { acts: [...before, wait, ...after, endOf(body)], said: body.said, wholeAt: wholeAt(body, 'end') };
  }
  return {
    acts: [...before, wait, { type: 'break', how: then }],
    said: body.said,
    wholeAt: wholeAt(body, 'never'),
  };
}

function errorEventScore(
  behaviour: Extract<Behaviour, { type: 'error-event' }>,
  voice: Voice,
  body: Body,
): Score {
  const afterEvents = behaviour.afterEvents ?? 0;
  const then = behaviour.followedBy ?? 'end';
  const [kept] = divideItems(body, { events: afterEvents });
  const reported = voice.errorEvents(behaviour.shape, behaviour.error ?? {}, {
    said: body.said,
    place: afterEvents,
  });
  if (then === 'end-marker') reported.push(voice.endMarker());
  const pieces = reported.map((event, index) => eventPiece(event, afterEvents + 1 + index, body.answer));
  const items = [...kept, ...pieces];
  const isEnded = then === 'end' || then === 'end-marker';
  const acts = frameBody({ ...body, items }, { isEnded });
  const end: Act = isEnded ? endOf(body) : then === 'hang' ? { type: 'hang' } : { type: 'break', how: then };
  return { acts: [...acts, end], said: body.said, wholeAt: wholeAt(body, 'never') };
}

function insertScore(body: Body, atEvent: number, event: VoiceEvent): Score {
  const [before, after] = divideItems(body, { events: atEvent - 1 });
  return wholeScore({ ...body, items: [...before, eventPiece(event, atEvent, body.answer), ...after] });
}

function endOfRaw(then: 'keep-alive' | 'fin' | 'reset' | 'hang'): Act {
  if (then === 'hang') return { type: 'hang' };
  return then === 'keep-alive' ? { type: 'complete', connection: 'keep' } : { type: 'break', how: then };
}

function hugeHeaders(bytes: number): Record<string, string> {
  const headerBytes = 4096;
  const count = Math.ceil(bytes / headerBytes);
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`x-huge-${index}`, 'h'.repeat(headerBytes)]),
  );
}
