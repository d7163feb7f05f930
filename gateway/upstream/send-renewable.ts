// How is a request sent whose credential can be renewed? An ended credential is renewed before; after a refusal it is renewed too, and the
// request is sent a second time. For the attempt both are one transmission.

import type { Credential, Lease } from './credential.ts';
import type { UpstreamCall, UpstreamReceiver } from './send.ts';
import { sendOnceRenewed } from './send-once-renewed.ts';

/** @param wallMs Unix milliseconds. */
export function sendRenewable(
  credential: Credential,
  wallMs: () => number,
  sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall,
  receiver: UpstreamReceiver,
): UpstreamCall {
  return new RenewableCall(credential, wallMs, sendBy, receiver);
}

class RenewableCall implements UpstreamCall {
  private readonly credential: Credential;
  private readonly sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall;
  private readonly receiver: UpstreamReceiver;
  private call: UpstreamCall;
  private isPaused = false;

  constructor(
    credential: Credential,
    wallMs: () => number,
    sendBy: (lease: Lease, to: UpstreamReceiver) => UpstreamCall,
    receiver: UpstreamReceiver,
  ) {
    this.credential = credential;
    this.sendBy = sendBy;
    this.receiver = receiver;
    const { lease } = credential;
    this.call =
      lease && wallMs() < lease.endsAtMs
        ? this.sendFirst(lease)
        : sendOnceRenewed(credential.renew(), (renewed) => this.sendFirst(renewed), receiver);
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

  private sendFirst(lease: Lease): UpstreamCall {
    const { receiver } = this;
    let isRefused = false;
    const call = this.sendBy(lease, {
      get takesJoined() {
        return receiver.takesJoined === true;
      },
      onHead: (status, header) => {
        const next = this.credential.refuse?.(lease, status, header);
        if (next === undefined) {
          receiver.onHead(status, header);
          return;
        }
        isRefused = true;
        call.abort();
        this.call = sendOnceRenewed(next, (another) => this.sendBy(another, receiver), receiver);
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
