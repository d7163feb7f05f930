// May this process still write? Not after this.

/** Another leader writes the table, or this one gave its leadership up. For good, until the next taking over. */
export class DeposedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DeposedError';
  }
}
