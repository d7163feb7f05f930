// A value that must not be printed: it shows itself only to the one who asks for it by name.

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
