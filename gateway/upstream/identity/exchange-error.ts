// Why did a service give nothing for a credential? In our words, which may be shown: what the service wrote may repeat what it was sent.

export class ExchangeError extends Error {
  /** The same question will get the same answer until a person changes something. False: the service is away, or too busy. */
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal: boolean) {
    super(message.slice(0, messageLengthMax));
    this.name = 'ExchangeError';
    this.isRefusal = isRefusal;
  }
}

/** As long as the operator reads them. */
const messageLengthMax = 200;

/** @param code Of the service; shown if it is one word. */
export function codeInWords(code: unknown): string {
  return typeof code === 'string' && /^[A-Za-z][\w.]{0,63}$/.test(code) ? ` (${code})` : '';
}
