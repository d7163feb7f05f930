// How is a request sent that is signed in with a token? The token is renewed before where it has ended; and once more where the upstream
// refuses it all the same: for the attempt all of it is one transmission.

import type { Credential, Lease } from './credential.ts';
import type { UpstreamCall, UpstreamReceiver } from './send.ts';
import { sendOnceRenewed } from './send-once-renewed.ts';

/** @param nowMs Unix milliseconds. */
export function sendRenewable(
  credential: Credential,
  nowMs: number,
  sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall,
  receiver: UpstreamReceiver,
): UpstreamCall {
  return new RenewableCall(credential, nowMs, sendBy, receiver);
}

class RenewableCall implements UpstreamCall {
  private readonly credential: Credential;
  private readonly sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall;
  private readonly receiver: UpstreamReceiver;
  private call: UpstreamCall;
  private isPaused = false;

  constructor(
    credential: Credential,
    nowMs: number,
    sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall,
    receiver: UpstreamReceiver,
  ) {
    this.credential = credential;
    this.sendBy = sendBy;
    this.receiver = receiver;
    const { lease } = credential;
    this.call =
      lease && nowMs < lease.endsAtMs
        ? this.sendFirst(lease)
        : this.sendRenewed((renewed) => this.sendFirst(renewed));
  }

  get isSent(): boolean {
    return this.call.isSent;
  }

  abort(): void {
    this.call.abort();
  }

  pause(): void {
    this.isPaused = true;
    this.call.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.call.resume();
  }

  private sendRenewed(sendWith: (lease: Lease) => UpstreamCall): UpstreamCall {
    return sendOnceRenewed(this.credential.renew(), sendWith, this.receiver);
  }

  private sendFirst(lease: Lease): UpstreamCall {
    const { receiver } = this;
    let isRefused = false;
    const call = this.sendBy(lease, {
      onHead: (status, header) => {
        if (status !== 401) {
          receiver.onHead(status, header);
          return;
        }
        isRefused = true;
        call.abort();
        this.credential.drop?.(lease);
        this.call = this.sendRenewed((renewed) => this.sendBy(renewed, receiver));
        if (this.isPaused) this.call.pause();
      },
      onBody: (chunk) => {
        if (!isRefused) receiver.onBody(chunk);
      },
      onEnd: () => {
        if (!isRefused) receiver.onEnd();
      },
      onBreak: (code, detail, isStale) => {
        if (!isRefused) receiver.onBreak(code, detail, isStale);
      },
    });
    return call;
  }
}
