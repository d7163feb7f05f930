// Many callers of several gateways at once: what were they reported, and how long did it take?

import { openRaw, type RawConnection, writeRequest } from '../../support/raw-client.ts';

export interface CrowdOptions {
  /** Callers go to them in turn. */
  readonly ports: readonly number[];
  readonly key: string;
  readonly callers: number;
  /** Of each caller, one after the other. */
  readonly requests: number;
  /** Of ten requests, so many streams whose callers leave as soon as they begin. */
  readonly cancelledOfTen?: number;
  /** Reported of each answer, with how many there were. */
  onAnswer?(count: number): void;
}

export interface CrowdTally {
  /** How many answers had which status; 0: none came. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Of those, how many left their stream. */
  readonly left: number;
  readonly elapsedMs: number;
  /** Milliseconds of each answer that was waited for. */
  readonly tookMs: readonly number[];
}

export async function crowd({
  ports,
  key,
  callers,
  requests,
  cancelledOfTen = 0,
  onAnswer = () => {},
}: CrowdOptions): Promise<CrowdTally> {
  const beganMs = performance.now();
  const statuses: Record<number, number> = {};
  const tookMs: number[] = [];
  let left = 0;
  let answers = 0;
  const count = (status: number): void => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    onAnswer(++answers);
  };
  const call = async (port: number): Promise<void> => {
    let connection: RawConnection | undefined;
    for (let index = 0; index < requests; index++) {
      const leaves = index % 10 < cancelledOfTen;
      const startedMs = performance.now();
      try {
        connection ??= await openRaw({ port });
        await connection.send(requestOf(key, leaves));
        const answer = await connection.answer();
        count(answer.status);
        if (leaves && answer.status === 200) {
          left++;
          connection.abort();
          connection = undefined;
          continue;
        }
        await answer.finished;
        tookMs.push(performance.now() - startedMs);
        if (answer.headers.connection === 'close') {
          connection.close();
          connection = undefined;
        }
      } catch {
        count(0);
        connection?.close();
        connection = undefined;
      }
    }
    connection?.close();
  };
  await Promise.all(Array.from({ length: callers }, (_, index) => call(ports[index % ports.length] ?? 0)));
  return { statuses, left, elapsedMs: performance.now() - beganMs, tookMs };
}

function requestOf(key: string, isStream: boolean): Uint8Array | string {
  return writeRequest({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    body: {
      model: 'm',
      max_tokens: 20,
      stream: isStream,
      messages: [{ role: 'user', content: 'three plain words' }],
    },
  });
}
