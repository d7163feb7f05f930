// Why did a service give nothing for a credential? In our words, which may be shown: what the service wrote may repeat what it was sent.

import { CREDENTIAL_MESSAGE_MAX } from '../../../core/contract/exchange.ts';

export class ExchangeError extends Error {
  /** The same question will get the same answer until a person changes something. False: the service is away, or too busy. */
  readonly isRefusal: boolean;

  /** @param message What is so, and what is to do. */
  constructor(message: string, isRefusal: boolean) {
    super(message.slice(0, CREDENTIAL_MESSAGE_MAX));
    this.name = 'ExchangeError';
    this.isRefusal = isRefusal;
  }
}

/** Of the session of one caller: it says nothing of the upstream, nor of other callers. */
export class SessionError extends ExchangeError {}

/** Of any error of an exchange: one that is not ours may hold a secret. */
export function exchangeInWords(error: unknown): string {
  return error instanceof ExchangeError
    ? error.message
    : 'the gateway could not exchange it. Report this as a fault of Penstock.';
}

/** @param code Of the service; shown if it is one word. */
export function codeInWords(code: unknown): string {
  return typeof code === 'string' && /^[A-Za-z][\w.]{0,63}$/.test(code) ? ` (${code})` : '';
}
