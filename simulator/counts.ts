// Which requests has the simulator received, and what did it answer? Its own books, against which others are checked.

import type { Fault } from './directives.ts';

/** Tokens by kind; `input` includes `cached` and `cacheWrite`, `output` includes `reasoning`. */
export type Tokens = { input: number; cached: number; cacheWrite: number; output: number; reasoning: number };

/** `complete`: answered to the end. `rejected`: refused as the caller's mistake or by a scripted key. `shut-down`: the
 *  simulator was closed first. Otherwise the name of the fault that ended it, such as `reset-after` or `error-500`. */
export type Ending =
  | 'complete'
  | 'rejected'
  | 'client-gone'
  | 'shut-down'
  | Exclude<Fault['kind'], 'error'>
  | `error-${number}`;

export type Call = {
  /** 1, 2, 3… in the order of arrival. */
  sequence: number;
  method: string;
  /** Path without query, such as `/v1/messages`. */
  endpoint: string;
  query: string;
  /** As sent, with directives; `''` where the endpoint has none. */
  model: string;
  /** Without directives. */
  baseModel: string;
  isStream: boolean;
  /** The parsed body; undefined without a body, or if it is not JSON. */
  body: unknown;
  /** Request headers; a credential is replaced by `sha256:<hex>`. */
  headers: Record<string, string>;
  /** SHA-256 (hex) of the credential, null without one. */
  credentialSha256: string | null;
  /** The id given in the option `keys`, else the first 12 digits of the SHA-256, or `none`. */
  keyId: string;
  /** HTTP status that was sent, null when none was. */
  status: number | null;
  /** The generated tokens; of an unfinished call, until then. */
  tokens: Tokens;
  /** True when `tokens` is the usage that was sent to the client in full. */
  isUsageSent: boolean;
  /** The scripted fault that this call ran into, even if the client left before. */
  fault: string | null;
  /** null while the call is running. */
  ending: Ending | null;
};

export type Tally = {
  calls: number;
  byEndpoint: Record<string, number>;
  byEnding: Record<string, number>;
  tokens: Tokens;
};

export type Counts = {
  /** Calls that have arrived. */
  calls: number;
  /** Of those, still running. */
  running: number;
  /** Ended calls by base model; endpoints without a model count under `''`. */
  models: Record<string, Tally>;
  /** Ended calls by key id. */
  keys: Record<string, Tally>;
  total: Tally;
};

export type Ledger = {
  open(call: Omit<Call, 'sequence' | 'status' | 'tokens' | 'isUsageSent' | 'fault' | 'ending'>): Call;
  end(call: Call, ending: Ending): void;
  counts(): Counts;
  /** The calls kept, oldest first; running ones too. */
  calls(): Call[];
  /** The first ended call that fits and was not handed out before; waits for it if needed. */
  nextCall(fits: (call: Call) => boolean): Promise<Call>;
  /** The same for calls that have arrived, ended or not. */
  nextArrival(fits: (call: Call) => boolean): Promise<Call>;
  /** Forgets everything; calls still running then end unseen. */
  reset(): void;
  /** Rejects all waiting readers. */
  close(): void;
};

/** `callsMax`: how many calls are kept; the oldest go first, the tallies stay exact. */
export function makeLedger(callsMax: number): Ledger {
  let sequence = 0;
  let running = new Set<Call>();
  let kept: Call[] = [];
  let total = emptyTally();
  let models = new Map<string, Tally>();
  let keys = new Map<string, Tally>();
  const ended = makeQueue(callsMax);
  const arrived = makeQueue(callsMax);
  return {
    open: (facts) => {
      sequence += 1;
      const call: Call = {
        ...facts,
        sequence,
        status: null,
        tokens: emptyTokens(),
        isUsageSent: false,
        fault: null,
        ending: null,
      };
      running.add(call);
      kept.push(call);
      if (kept.length > callsMax * 2) kept = kept.slice(-callsMax);
      arrived.push(call);
      return call;
    },
    end: (call, ending) => {
      if (call.ending !== null) return;
      call.ending = ending;
      // A call from before a reset ends unseen, or it would spoil the next test's books.
      if (!running.delete(call)) return;
      for (const tally of [total, tallyOf(models, call.baseModel), tallyOf(keys, call.keyId)])
        add(tally, call, ending);
      ended.push(call);
    },
    counts: () =>
      structuredClone({
        calls: sequence,
        running: running.size,
        models: Object.fromEntries(models),
        keys: Object.fromEntries(keys),
        total,
      }),
    calls: () => kept.slice(-callsMax),
    nextCall: ended.next,
    nextArrival: arrived.next,
    reset: () => {
      sequence = 0;
      running = new Set();
      kept = [];
      total = emptyTally();
      models = new Map();
      keys = new Map();
      ended.clear();
      arrived.clear();
    },
    close: () => {
      ended.close();
      arrived.close();
    },
  };
}

type Queue = {
  push(call: Call): void;
  next(fits: (call: Call) => boolean): Promise<Call>;
  clear(): void;
  close(): void;
};

// A call goes to the longest-waiting reader, or is kept for the next reader: no order of reads loses it.
function makeQueue(callsMax: number): Queue {
  let unread: Call[] = [];
  let waiting: {
    fits: (call: Call) => boolean;
    resolve: (call: Call) => void;
    reject: (error: Error) => void;
  }[] = [];
  return {
    push: (call) => {
      const waiter = waiting.find(({ fits }) => fits(call));
      if (waiter !== undefined) {
        waiting = waiting.filter((one) => one !== waiter);
        waiter.resolve(call);
        return;
      }
      unread.push(call);
      if (unread.length > callsMax * 2) unread = unread.slice(-callsMax);
    },
    next: (fits) => {
      const at = unread.findIndex(fits);
      const [found] = at < 0 ? [] : unread.splice(at, 1);
      if (found !== undefined) return Promise.resolve(found);
      const promise = new Promise<Call>((resolve, reject) => waiting.push({ fits, resolve, reject }));
      // A reader that no longer waits when the simulator closes must not bring the process down.
      promise.catch(() => undefined);
      return promise;
    },
    clear: () => {
      unread = [];
    },
    close: () => {
      for (const { reject } of waiting) reject(new Error('simulator: closed before such a call came'));
      waiting = [];
    },
  };
}

function emptyTokens(): Tokens {
  return { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
}

function emptyTally(): Tally {
  return { calls: 0, byEndpoint: {}, byEnding: {}, tokens: emptyTokens() };
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const found = tallies.get(name) ?? emptyTally();
  tallies.set(name, found);
  return found;
}

function add(tally: Tally, call: Call, ending: Ending): void {
  tally.calls += 1;
  tally.byEndpoint[call.endpoint] = (tally.byEndpoint[call.endpoint] ?? 0) + 1;
  tally.byEnding[ending] = (tally.byEnding[ending] ?? 0) + 1;
  tally.tokens.input += call.tokens.input;
  tally.tokens.cached += call.tokens.cached;
  tally.tokens.cacheWrite += call.tokens.cacheWrite;
  tally.tokens.output += call.tokens.output;
  tally.tokens.reasoning += call.tokens.reasoning;
}
