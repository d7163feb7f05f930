// How is a request sent whose credential has ended? Renewed first, and sent then; for the attempt it is one transmission, which its
// timers and its client can end at any time.

import type { Lease } from './credential.ts';
import { exchangeInWords, SessionError } from './identity/exchange-error.ts';
import type { UpstreamCall, UpstreamReceiver } from './send.ts';

/** @param renewal A lease that is ready: then the request is sent at once. */
export function sendOnceRenewed(
  renewal: Lease | Promise<Lease>,
  sendWith: (lease: Lease) => UpstreamCall,
  receiver: Pick<UpstreamReceiver, 'onBreak'>,
): UpstreamCall {
  return new RenewedCall(renewal, sendWith, receiver);
}

class RenewedCall implements UpstreamCall {
  private call: UpstreamCall | undefined;
  private isAborted = false;
  private isPaused = false;

  constructor(
    renewal: Lease | Promise<Lease>,
    sendWith: (lease: Lease) => UpstreamCall,
    receiver: Pick<UpstreamReceiver, 'onBreak'>,
  ) {
    const fail = (detail: string, code: 'connect_failed' | 'session_failed' = 'connect_failed'): void => {
      if (!this.isAborted) receiver.onBreak(code, detail, false);
    };
    const begin = (lease: Lease): void => {
      if (this.isAborted) return;
      try {
        this.call = sendWith(lease);
      } catch {
        // The message may hold the credential, so it is replaced.
        fail('the request cannot be signed or written');
        return;
      }
      if (this.isPaused) this.call.pause();
    };
    if (!(renewal instanceof Promise)) begin(renewal);
    else
      renewal.then(begin, (error: unknown) =>
        fail(
          `the credential cannot be renewed: ${exchangeInWords(error)}`,
          error instanceof SessionError ? 'session_failed' : 'connect_failed',
        ),
      );
  }

  get isSent(): boolean {
    return this.call?.isSent === true;
  }

  abort(): void {
    this.isAborted = true;
    this.call?.abort();
  }

  pause(): void {
    this.isPaused = true;
    this.call?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.call?.resume();
  }
}
