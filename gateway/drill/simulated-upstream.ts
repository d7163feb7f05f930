// What do the upstreams do in a drill? The first target that is tried plays the fault, all others answer at once.
// Nothing of it leaves the process.

import { isUpstreamOnly } from '../../core/catalog/dialects.ts';
import type { Clock } from '../../core/clock.ts';
import type { DrillFault } from '../../core/contract/exchange.ts';
import type { Receiver } from '../attempt/attempt-io.ts';
import { findDialect, findUpstreamDialect } from '../dialects/registry.ts';
import type { PlayUpstream } from '../pipeline/parts.ts';
import { type SimulatedAnswer, simulateAnswer, simulateStream } from './simulated-answer.ts';

interface SimulatedUpstreams {
  readonly play: PlayUpstream;
  /** Name of the target that was asked first, which is the one at fault. */
  faulty(): string | undefined;
  /** Clock time at which the fault was there for the first time. */
  faultAtMs(): number | undefined;
}

export function simulateUpstreams(fault: DrillFault, clock: Pick<Clock, 'now'>): SimulatedUpstreams {
  let faulty: string | undefined;
  let faultAtMs: number | undefined;
  return {
    faulty: () => faulty,
    faultAtMs: () => faultAtMs,
    play(candidate, { body }, receiver) {
      const { name } = candidate.target.entry;
      faulty ??= name;
      const { dialect } = candidate;
      const answer = isUpstreamOnly(dialect)
        ? simulateStream(findUpstreamDialect(dialect))
        : simulateAnswer(findDialect(dialect), body);
      const script = name === faulty ? faultScript(fault, answer) : wholeScript(answer);
      if (name === faulty) faultAtMs ??= clock.now();
      let isAborted = false;
      const play = (step: number): void => {
        const next = script[step];
        if (isAborted || next === undefined) return;
        next(receiver);
        queueMicrotask(() => play(step + 1));
      };
      queueMicrotask(() => play(0));
      return {
        isSent: true,
        abort() {
          isAborted = true;
        },
        // An answer of a few words needs no back-pressure.
        pause() {},
        resume() {},
      };
    },
  };
}

/** One step after the other, until the reader leaves. */
type Script = readonly ((receiver: Receiver) => void)[];

function wholeScript({ contentType, pieces }: SimulatedAnswer): Script {
  return [head(200, contentType), ...pieces.map(piece), (receiver) => receiver.onEnd()];
}

function faultScript(fault: DrillFault, { contentType, pieces }: SimulatedAnswer): Script {
  switch (fault) {
    case 'ServerError':
      return errorScript(500, 'server_error');
    case 'RateLimited':
      return errorScript(429, 'rate_limit_error');
    case 'Hang':
      return [];
    case 'Reset':
      return [reset];
    case 'CutStream':
      return [head(200, contentType), ...pieces.slice(0, -1).map(piece), reset];
  }
}

function errorScript(status: number, type: string): Script {
  const body = Buffer.from(JSON.stringify({ error: { message: 'played by a drill', type, code: null } }));
  return [head(status, 'application/json'), piece(body), (receiver) => receiver.onEnd()];
}

function head(status: number, contentType: string): Script[number] {
  return (receiver) => receiver.onHead(status, (name) => (name === 'content-type' ? contentType : undefined));
}

function piece(bytes: Buffer): Script[number] {
  return (receiver) => receiver.onBody(bytes);
}

function reset(receiver: Receiver): void {
  receiver.onBreak('reset', 'played by a drill');
}
