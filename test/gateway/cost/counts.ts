// What is counted of a process that relays requests, and what is said about it.

export type Meter = 'allocation' | 'work';

export type Ask = { type: 'begin' | 'end'; meter: Meter };

/** Sums over all requests between `begin` and `end`. */
export interface Counts {
  /** Allocated on the heap; Buffers' own memory is not on it. */
  readonly bytes?: number;
  /** Of garbage: `bytes` is worth nothing where there was one. */
  readonly collections?: number;
  readonly promises?: number;
  readonly timers?: number;
  readonly listeners?: number;
  /** To sockets, of client and upstream. */
  readonly writes?: number;
}

export type Heard =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'counts'; readonly counts: Counts };
