// Was it done? An answer can be lost after the server has done what it was asked; then what is there now says it.

import { ApiError } from './api.ts';

export interface NotDone {
  /** `unknown`: it may have been done, or may yet be. */
  readonly is: 'refused' | 'unknown';
  readonly message: string;
}
type Sent = { readonly is: 'done' } | NotDone;

export interface Sending {
  /** Changes nothing, and says what would be refused. */
  readonly check?: () => Promise<unknown>;
  /** Sends the same change each time: it may arrive twice. */
  readonly send: () => Promise<unknown>;
  /** Looks at what is there now. */
  readonly wasDone: () => Promise<boolean>;
  /** An earlier try has an unknown result. */
  readonly isAgain: boolean;
}

/** @throws nothing: what went wrong is in the answer. */
export async function sendSurely({ check, send, wasDone, isAgain }: Sending): Promise<Sent> {
  let mayBeDone = isAgain;
  try {
    if (isAgain && (await wasDone())) return { is: 'done' };
    await check?.();
    mayBeDone = true;
    await send();
    return { is: 'done' };
  } catch (error) {
    const { message } = error as Error;
    const isLost = isAnswerLost(error);
    // A refusal is one, unless what was sent before has come after all: then there is nothing left to do.
    if (!mayBeDone || !(isLost || isAgain)) return { is: 'refused', message };
    const isDone = await wasDone().catch(() => undefined);
    if (isDone) return { is: 'done' };
    return { is: isLost || isDone === undefined ? 'unknown' : 'refused', message };
  }
}

/** No answer, or the answer of a proxy: the request may have succeeded all the same. Not without a token, because then it was not sent on. */
export function isAnswerLost(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.status === 0 || error.status >= 500) &&
    error.code !== 'issuer_unreachable'
  );
}

/** Whether everything that was sent is there; what a server has put beside it does not matter. */
export function isWithin(sent: unknown, there: unknown): boolean {
  if (typeof sent !== 'object' || sent === null) return sent === there;
  if (typeof there !== 'object' || there === null) return false;
  if (Array.isArray(sent) && (!Array.isArray(there) || sent.length !== there.length)) return false;
  return Object.entries(sent).every(([name, value]) =>
    isWithin(value, (there as Readonly<Record<string, unknown>>)[name]),
  );
}

export function isSame(one: unknown, other: unknown): boolean {
  return isWithin(one, other) && isWithin(other, one);
}
