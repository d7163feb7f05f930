// Which sessions are over before their time? Their ids, until they would have ended anyway; bounded, and above the bound more
// sessions end than had to, never fewer.

import type { SessionLife } from './session.ts';

export interface EndedSessions {
  end(session: SessionLife): void;
  isOver(session: SessionLife): boolean;
}

const endedMax = 50_000;

export function openEndedSessions(wallMs: () => number, max = endedMax): EndedSessions {
  const ended = new Map<string, { readonly issuedAtMs: number; readonly expiresAtMs: number }>();
  /** Sessions that began before this time are over. */
  let overUntilMs = Number.NEGATIVE_INFINITY;

  function makeRoom(): void {
    const nowMs = wallMs();
    for (const [id, { expiresAtMs }] of ended) if (expiresAtMs <= nowMs) ended.delete(id);
    if (ended.size < max) return;
    // A tenth at once: the walk through all is not made for each of them.
    const oldest = [...ended].sort(([, a], [, b]) => a.issuedAtMs - b.issuedAtMs);
    for (const [id, { issuedAtMs }] of oldest.slice(0, Math.ceil(max / 10))) {
      ended.delete(id);
      overUntilMs = Math.max(overUntilMs, issuedAtMs);
    }
  }

  return {
    end({ id, issuedAtMs, expiresAtMs }) {
      if (ended.size >= max) makeRoom();
      ended.set(id, { issuedAtMs, expiresAtMs });
    },
    isOver({ id, issuedAtMs, expiresAtMs }) {
      return expiresAtMs <= wallMs() || issuedAtMs <= overUntilMs || ended.has(id);
    },
  };
}
