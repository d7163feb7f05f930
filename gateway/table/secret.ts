// A value that must not be printed: only an explicit `reveal` shows it.

import { inspect } from 'node:util';

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]'; // guard: redact-printed-secret
  }

  [inspect.custom](): string {
    return '[redacted]';
  }
}
