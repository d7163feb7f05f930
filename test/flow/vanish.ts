// Does an upstream learn that the caller has gone? Callers leave in every dialect and at every point of an answer; measured at the
// wall, which sees the end of its connection.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Behaviour } from '../support/wall.ts';
import { askOpen, type Endpoint, textOf } from './ask.ts';
import type { House } from './house.ts';

export interface Vanished {
  /** From the caller's end to the upstream's notice of it, run by run. */
  readonly noticeMs: readonly number[];
  readonly records: readonly LedgerRecord[];
  /** What the wall had generated when it was released, by its own count; as many as records. */
  readonly generated: readonly number[];
}

const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];

/** Where callers leave: before the head, behind it, in the middle, and from plain calls. */
const everyPoint: readonly { readonly isStream: boolean; readonly fault: Behaviour }[] = [
  { isStream: true, fault: { type: 'stall', after: { contentEvents: 3 } } },
  { isStream: true, fault: { type: 'hang', when: 'after-headers' } },
  { isStream: true, fault: { type: 'hang', when: 'before-headers' } },
  { isStream: false, fault: { type: 'hang', when: 'before-headers' } },
  { isStream: false, fault: { type: 'stall', after: { bytes: 40 } } },
];

/** One after another: what is measured is the notice, not a queue. Who leaves: all dialects and points in turn, or of this kind only. */
export async function vanish(
  house: House,
  runs: number,
  only: { readonly endpoint?: Endpoint; readonly isStream?: boolean } = {},
): Promise<Vanished> {
  const leavers = only.endpoint === undefined ? endpoints : [only.endpoint];
  const points = everyPoint.filter(({ isStream }) => isStream === (only.isStream ?? isStream));
  const wall = await house.wallThat(
    (call) => points[call.number % points.length]?.fault ?? { type: 'empty' },
  );
  const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;
  const rig = await house.rigOf([{ baseUrl: wall.baseUrl, dialects: [...dialects] }]);
  const noticeMs: number[] = [];
  const generated: number[] = [];
  for (let run = 1; run <= runs; run++) {
    const { isStream = true, fault } = points[run % points.length] ?? {};
    const { connection, answer } = await askOpen(rig, {
      endpoint: leavers[Math.floor(run / points.length) % leavers.length] ?? 'chat',
      isStream,
    });
    answer.catch(() => {});
    const call = await wall.nextCall();
    if (isStream && fault?.type === 'stall') {
      const opened = await answer;
      let read = '';
      while (read.split(' ').length <= 3) {
        const event = await opened.nextEvent();
        if (event === undefined) throw new Error('the stream ended before the caller could leave');
        read += textOf({ events: [event], json: undefined });
      }
    }
    const leftAtMs = performance.now();
    if (run % 2 === 0) connection.abort();
    else connection.close();
    await call.clientClosed;
    noticeMs.push(performance.now() - leftAtMs);
    await call.finished;
    generated.push(call.tokens.outputTokens);
  }
  return { noticeMs, records: rig.records, generated };
}
