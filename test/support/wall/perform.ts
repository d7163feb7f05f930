// How are acts put on a socket? One after another; a caller who leaves ends the performance at once.

import type { Socket } from 'node:net';
import type { Delay } from './behaviour.ts';
import type { CallEnd } from './call.ts';
import type { Departure, DepartureReason } from './departure.ts';
import type { Act, WriteAct } from './framing.ts';

export interface Stage {
  socket: Socket;
  departure: Departure;
  /** Called when the kernel has taken the bytes of an act. */
  onWritten(act: WriteAct): void;
}

export interface Performed {
  end: CallEnd;
  isKept: boolean;
}

export async function perform(acts: readonly Act[], stage: Stage): Promise<Performed> {
  for (const act of acts) {
    const performed = await play(act, stage);
    if (performed !== undefined) return performed;
  }
  throw new Error('A behaviour of the wall has no end: every score closes with complete, break or hang');
}

/** Undefined: go on with the next act. */
async function play(act: Act, stage: Stage): Promise<Performed | undefined> {
  const { socket } = stage;
  switch (act.type) {
    case 'write':
      return leave(await unlessGone(stage, (done) => flush(stage, act, done)));
    case 'wait':
      return leave(await unlessGone(stage, (done) => settle(act.delay, done)));
    case 'hang':
      return leave(await unlessGone(stage, () => ping(stage, act.ping)));
    case 'complete':
      if (act.connection === 'fin') socket.end();
      if (act.connection === 'reset') socket.resetAndDestroy();
      return { end: 'complete', isKept: act.connection === 'keep' };
    case 'break':
      if (act.how === 'fin') socket.end();
      else socket.resetAndDestroy();
      return { end: act.how, isKept: false };
  }
}

function leave(reason: DepartureReason | undefined): Performed | undefined {
  return reason === undefined ? undefined : { end: reason, isKept: false };
}

/** Begins an act, and takes it back when the other side leaves before it is done. */
function unlessGone(
  stage: Stage,
  begin: (done: () => void) => () => void,
): Promise<DepartureReason | undefined> {
  const reason = stage.departure.reason();
  if (reason !== undefined) return Promise.resolve(reason);
  return new Promise((resolve) => {
    const cancel = begin(() => {
      stopListening();
      resolve(undefined);
    });
    const stopListening = stage.departure.listen((gone) => {
      cancel();
      resolve(gone);
    });
  });
}

/**
 * Each run of bytes is a write of its own, and a turn of the event loop lies in front of it: else the kernel would
 * join small writes, and a split would not be seen as one. (A turn behind it instead would let a caller who closes on
 * the last byte look like one who left before.)
 */
function flush(stage: Stage, act: WriteAct, done: () => void): () => void {
  const turn = setImmediate(() => {
    stage.socket.write(act.bytes, (error) => {
      // After an error the socket closes, and its departure ends the performance.
      if (error) return;
      stage.onWritten(act);
      done();
    });
  });
  return () => clearImmediate(turn);
}

function settle(delay: Delay, done: () => void): () => void {
  if ('until' in delay) {
    delay.until.then(done, done);
    return () => {};
  }
  const timer = setTimeout(done, delay.ms);
  return () => clearTimeout(timer);
}

function ping(stage: Stage, comment: { everyMs: number; bytes: Buffer } | undefined): () => void {
  if (comment === undefined) return () => {};
  const timer = setInterval(() => stage.socket.write(comment.bytes), comment.everyMs);
  return () => clearInterval(timer);
}
