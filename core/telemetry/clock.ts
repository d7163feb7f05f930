// What time is it, and wake me later: as every process has it.

export interface Clock {
  /** Unix milliseconds. */
  wallMs(): number;
  /** Calls back once, after at least `ms`; gives a function that cancels. */
  setTimer(ms: number, callback: () => void): () => void;
}
