// How are bodies read that are so large that each would hold up everybody else? In steps, between which others have their turn, and one of
// each key at a time.

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

export class LargeBodies {
  private readonly turns: Pick<ReadingTurns, 'run'>;
  /** The end of the last one in the line of each key. */
  private readonly lines = new Map<KeyUse, Promise<void>>();
  /** The end of the last one of all: what is read takes several times the memory of its bytes. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(turns: Pick<ReadingTurns, 'run'>) {
    this.turns = turns;
  }

  /**
   * @param mustParse Whether it has to be parsed whole: it is read, not passed on.
   * @param isWanted Asked when it comes to it: callers leave.
   * @returns Undefined where it is not wanted any more.
   * @throws {GatewayError} `invalid_parameter`.
   */
  async read(
    key: KeyUse,
    chunks: readonly Buffer[],
    mustParse: (body: RequestBody) => boolean,
    isWanted: () => boolean,
  ): Promise<RequestBody | undefined> {
    const before = this.lines.get(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.lines.set(key, promise);
    try {
      await before;
      return await this.alone(async () => {
        if (!isWanted()) return undefined;
        const body = await this.turns.run(key, readInSteps(withoutMark(chunks)));
        refuseConnectionMembers(body);
        if (isWanted() && mustParse(body)) await this.turns.run(key, body.parseInSteps());
        return isWanted() ? body : undefined;
      });
    } catch (error) {
      throw invalidBody(nameEncoding(error, chunks));
    } finally {
      resolve();
      if (this.lines.get(key) === promise) this.lines.delete(key);
    }
  }

  private async alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.last.then(work);
    this.last = run.catch(() => undefined);
    return await run;
  }
}
