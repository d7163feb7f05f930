// How is a body parsed that is so large that it would delay every other caller? In steps, between which other requests run, and one body
// of each key at a time. While other keys are in use, a key pauses between two large bodies.

import type { Clock } from '../../core/clock.ts';
import type { Admission } from '../admission/admission.ts';
import type { KeyUse } from '../admission/fair-share.ts';
import { bytesOf, type RequestBody, readInSteps } from '../json/request-body.ts';
import type { ReadingTurns } from '../stream/reading-turns.ts';
import { refuseConnectionMembers } from './connection-members.ts';
import { invalidBody, nameEncoding, withoutMark } from './parse-body.ts';

/** Smaller ones take a few milliseconds. */
const largeBytesMin = 1024 * 1024;

export function isLargeBody(chunks: readonly Buffer[]): boolean {
  return bytesOf(chunks) > largeBytesMin;
}

/** To read and send large bodies, a key gets about a quarter of the time of the event loop. */
const pauseFactor = 3;
const pauseMaxMs = 1_000;

interface LargeBodiesParts {
  readonly turns: Pick<ReadingTurns, 'run'>;
  readonly admission: Pick<Admission, 'hasOtherKeys'>;
  readonly clock: Pick<Clock, 'now' | 'setTimer'>;
}

export class LargeBodies {
  private readonly parts: LargeBodiesParts;
  /** The end of the last one in the line of each key. */
  private readonly lines = new Map<KeyUse, Promise<void>>();
  /** The end of the last one of all: what is read takes several times the memory of its bytes. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(parts: LargeBodiesParts) {
    this.parts = parts;
  }

  /**
   * @param mustParse Whether it has to be parsed whole: it is read, not passed on.
   * @param isWanted Asked when it comes to it: callers leave.
   * @returns Undefined if it is not wanted any more.
   * @throws {GatewayError} `invalid_parameter`.
   */
  async read(
    key: KeyUse,
    chunks: readonly Buffer[],
    mustParse: (body: RequestBody) => boolean,
    isWanted: () => boolean,
  ): Promise<RequestBody | undefined> {
    const { turns, clock, admission } = this.parts;
    const before = this.lines.get(key);
    let startedAt = Number.POSITIVE_INFINITY;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lines.set(key, promise);
    try {
      await before;
      return await this.alone(async () => {
        if (!isWanted()) return undefined;
        startedAt = clock.now();
        const body = await turns.run(key, readInSteps(withoutMark(chunks)));
        refuseConnectionMembers(body);
        if (isWanted() && mustParse(body)) await turns.run(key, body.parseInSteps());
        return isWanted() ? body : undefined;
      });
    } catch (error) {
      throw invalidBody(nameEncoding(error, chunks));
    } finally {
      const end = (): void => {
        resolve();
        if (this.lines.get(key) === promise) this.lines.delete(key);
      };
      const tookMs = Math.max(0, clock.now() - startedAt);
      if (admission.hasOtherKeys) clock.setTimer(Math.min(pauseFactor * tookMs, pauseMaxMs), end);
      else end();
    }
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.last.then(work);
    this.last = run.catch(() => undefined);
    return await run;
  }
}
