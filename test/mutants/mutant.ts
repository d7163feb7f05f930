// What is a mutant? One safeguard switched off, and the tests that are to notice it.

/** `from` is exactly once in `file`; with `to` in its place the safeguard is gone and the code still runs. */
export interface Mutant {
  /** The safeguard, in words: what no longer holds. */
  readonly name: string;
  /** From the root of the project. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Each goes red by itself; from the root of the project. */
  readonly tests: readonly string[];
}
