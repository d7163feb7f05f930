// How is a request sent whose credential has ended? Renewed first, and sent then; for the attempt it is one transmission, which its
// timers and its client can end at any time.

import type { Lease } from './credential.ts';
import type { UpstreamCall, UpstreamReceiver } from './send.ts';

export function sendOnceRenewed(
  renewal: Promise<Lease>,
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
    renewal: Promise<Lease>,
    sendWith: (lease: Lease) => UpstreamCall,
    receiver: Pick<UpstreamReceiver, 'onBreak'>,
  ) {
    renewal
      .then((lease) => {
        if (this.isAborted) return;
        this.call = sendWith(lease);
        if (this.isPaused) this.call.pause();
      })
      .catch((error: unknown) => {
        if (this.isAborted) return;
        const why = error instanceof Error ? error.message : String(error);
        receiver.onBreak('connect_failed', `the credential cannot be renewed: ${why}`, false);
      });
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
