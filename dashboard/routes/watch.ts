// What has changed since a page asked? A watch of Kubernetes with the person's token, handed on as server-sent events. Nothing is kept for a
// slow reader: the next change is read only when the last was taken.

import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { WatchChange, WatchEnd, WatchReset } from '../api-types.ts';
import { ClusterAway, type ClusterEvent, ClusterRefusal } from '../cluster.ts';
import { type Door, sessionOf } from '../door.ts';
import { badParameter, DashboardError } from '../errors.ts';
import { GROUP_VERSION, isNamespace, KINDS } from '../guard/kube-paths.ts';
import { isTakenAway } from '../guard/may-do.ts';
import type { KeyLists } from '../rows/key-lists.ts';
import { tokenEndMs } from '../session/session.ts';

const querySchema = z.strictObject({
  kind: z.enum(KINDS),
  namespace: z
    .string()
    .transform((text) => (text === '' ? undefined : text))
    .pipe(z.string().refine(isNamespace).optional())
    .optional(),
});
const commentMs = 15_000;
/** A reader that takes nothing for this long is gone. */
const stallMs = 30_000;

export function addWatchRoute(api: FastifyInstance, door: Door, keyLists: KeyLists): void {
  const { clock, log } = door.parts;

  api.get('/watch', async (request, reply) => {
    const session = sessionOf(door, request);
    const query = querySchema.safeParse(request.query);
    if (!query.success)
      throw badParameter('?kind=apikeys, providers or modelroutes, and &namespace=… or all');
    const { kind, namespace } = query.data;
    const over = new AbortController();
    let reason: WatchEnd['reason'] | undefined;
    const endFor = (why: WatchEnd['reason']): void => {
      reason ??= why;
      over.abort();
    };
    const endSession = (): void => endFor('session');
    const takeOff = door.live.add(session, endSession);
    if (takeOff === undefined)
      throw new DashboardError(
        429,
        'too_many_questions',
        'This session has too many open streams. Close some of its pages.',
      );
    reply.raw.once('close', () => over.abort());
    const cancelTimer = clock.setTimer(session.expiresAtMs - clock.wallMs(), endSession);
    // A page that reconnects then brings the next token, if it has one.
    const tokenEnd = session.refreshToken === undefined ? undefined : tokenEndMs(session.token);
    const cancelToken =
      tokenEnd === undefined ? () => {} : clock.setTimer(tokenEnd - clock.wallMs(), () => over.abort());
    try {
      const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
      const cluster = door.parts.clusterOf(session);
      // From the list that its page has, or is about to have: nothing is missed between, and none is read twice.
      const from = kind === 'apikeys' ? await keyLists.position(session, namespace) : undefined;
      const watched = cluster.watch(`${GROUP_VERSION}${place}/${kind}`, over.signal, from);
      const events = watched[Symbol.asyncIterator]();
      // A refusal or a missing answer is a status, not a stream.
      let next = await events.next();
      const stream = openStream(reply, clock);
      // Kubernetes judges a watch when it begins, and not while it goes on.
      void isTakenAway(cluster, `watch ${kind}`, namespace ?? null, clock, over.signal).then((isGone) => {
        if (isGone) endFor('refused');
      });
      try {
        for (; next.done !== true; next = await events.next()) {
          if (kind === 'apikeys') keyLists.change(session, namespace, next.value);
          await stream.write(textOf(next.value));
        }
      } catch (error) {
        if (error instanceof ClusterRefusal) reason ??= 'refused';
        else if (!over.signal.aborted)
          log('warn', 'a watch of a page was interrupted', { reason: String(error) });
      } finally {
        await events.return?.();
      }
      if (reason !== undefined) await stream.write(eventOf('end', { reason } satisfies WatchEnd));
      stream.end();
      return reply;
    } catch (error) {
      if (!(error instanceof ClusterRefusal)) throw over.signal.aborted ? new ClusterAway('given up') : error;
      return reply.status(error.answer.status).send(error.answer.body ?? {});
    } finally {
      over.abort();
      cancelTimer();
      cancelToken();
      takeOff();
    }
  });
}

function textOf(event: ClusterEvent): string {
  if (event.type !== 'RESET') return eventOf('change', event satisfies WatchChange);
  const { resourceVersion } = event;
  return eventOf('reset', { resourceVersion } satisfies WatchReset);
}

/** JSON has no line end in it, so one line holds it. */
function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

interface Stream {
  /** Settled when there is room for more. */
  write(text: string): Promise<void>;
  end(): void;
}

function openStream(reply: FastifyReply, clock: Clock): Stream {
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, {
    ...headersOf(reply),
    'content-type': 'text/event-stream; charset=utf-8',
    // Proxies that wait for a whole answer would wait for ever.
    'x-accel-buffering': 'no',
  });
  let cancelComment = clock.setTimer(commentMs, comment);
  function comment(): void {
    // One unread heartbeat is enough.
    if (raw.writableLength === 0) raw.write(':\n\n');
    cancelComment = clock.setTimer(commentMs, comment);
  }
  raw.once('close', () => cancelComment());
  return {
    async write(text) {
      if (raw.destroyed) return;
      if (!raw.write(text)) await roomIn(raw, clock);
    },
    end() {
      cancelComment();
      raw.end();
    },
  };
}

/** A reader that makes no room is cut off. */
function roomIn(raw: ServerResponse, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancelTimer = clock.setTimer(stallMs, () => raw.destroy());
    const done = (): void => {
      cancelTimer();
      raw.off('drain', done);
      raw.off('close', done);
      resolve();
    };
    raw.once('drain', done);
    raw.once('close', done);
  });
}

/** Several cookies are a header each. */
function headersOf(reply: FastifyReply): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value : String(value)]],
    ),
  );
}
