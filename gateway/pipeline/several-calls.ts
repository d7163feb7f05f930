// What does a request keep of its upstream calls, if it needs several? They share one fate (fan-out.ts), and each is recorded only when
// that is known.

import { Call, type CallOutcome } from '../attempt/call.ts';
import type { Candidate } from '../route/plan.ts';
import type { CancelSignal } from '../stream/cancellation.ts';
import type { CallBodies } from './call-bodies.ts';
import { CallInputs } from './call-inputs.ts';
import { type CallingRequest, UpstreamJob } from './call-job.ts';
import { runCalls } from './fan-out.ts';
import type { Answer, RoutedExchange } from './parts.ts';

export class SeveralCalls {
  readonly calls: number;
  readonly inputs: CallInputs;
  /** The last candidate that each call has tried. */
  readonly asked = new Map<number, Candidate>();
  /** What waits to hear whether any of them was delivered. */
  readonly undecided: ((isWasted: boolean) => void)[] = [];

  constructor(exchange: RoutedExchange, calls: number) {
    this.calls = calls;
    this.inputs = new CallInputs(exchange);
  }

  run(
    request: CallingRequest & { forgetSaturated(): void },
    atOnce: number,
    caller: CancelSignal,
    bodies: CallBodies,
  ): Promise<readonly CallOutcome<Answer>[]> {
    const runOne = (number: number, group: CancelSignal): Promise<CallOutcome<Answer>> =>
      new Promise((resolve, reject) => {
        request.forgetSaturated();
        const onOver = (outcome: CallOutcome<Answer>): void => {
          stopListening();
          resolve(outcome);
        };
        const call = new Call(new UpstreamJob(request, number, { onOver, onThrown: reject }));
        const stopListening = group.onCancel(() => call.leave());
        call.start();
      });
    return runCalls(this.calls, atOnce, caller, runOne, bodies);
  }

  decide(isWasted: boolean): void {
    for (const note of this.undecided.splice(0)) note(isWasted);
  }
}
