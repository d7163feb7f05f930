// What happens next? One queue of events in one virtual time, and processes that can be killed or frozen between any two.
//
// An event runs, then everything that waits for nothing but promises, then the next event. Nothing else is in progress in
// between, so a seed decides the whole run.

import type { Clock } from '../../core/clock.ts';

/** The beginning of every run: 2026, in Unix milliseconds. */
const startWallMs = Date.UTC(2026, 0, 1);

export interface World {
  nowMs(): number;
  wallMs(): number;
  /** In the world itself: networks, servers, people. */
  after(ms: number, run: () => void): void;
  startProcess(name: string, skewMs: number): Process;
  /** Runs on for so long, or until it is asked to stop. */
  run(ms: number): Promise<void>;
  /** After each event that could have moved a process. */
  onStep(look: () => void): void;
  note(what: string): void;
  /** Whether anybody reads the notes; where it costs something to make one. */
  readonly isTold: boolean;
  /** A promise was broken: the run ends here. */
  fail(what: string): void;
  failure(): string | undefined;
  steps(): number;
}

export interface Process {
  readonly name: string;
  readonly clock: Clock;
  isAlive(): boolean;
  isFrozen(): boolean;
  /** Whatever it waits for never comes, from this very moment on. */
  kill(): void;
  /** What would have reached it at the same time reaches it afterwards. */
  freeze(ms: number): void;
  /** Runs inside of it: not at all where it is dead, later where it is frozen. Gives a function that takes it back. */
  after(ms: number, run: () => void): () => void;
}

interface Event {
  atMs: number;
  readonly order: number;
  readonly owner: OwnedProcess | undefined;
  readonly run: () => void;
  isOff: boolean;
}

interface OwnedProcess {
  isAlive: boolean;
  frozenUntilMs: number;
}

export function makeWorld(tell?: (atMs: number, what: string) => void): World {
  const events = makeHeap();
  const looks: (() => void)[] = [];
  let nowMs = 0;
  let order = 0;
  let failure: string | undefined;
  let steps = 0;

  function schedule(atMs: number, owner: OwnedProcess | undefined, run: () => void): Event {
    if (Number.isNaN(atMs)) throw new RangeError('An event needs a time, not NaN');
    order += 1;
    const event = { atMs, order, owner, run, isOff: false };
    events.push(event);
    return event;
  }

  const note = (what: string): void => tell?.(nowMs, what);

  return {
    nowMs: () => nowMs,
    wallMs: () => startWallMs + nowMs,
    after: (ms, run) => void schedule(nowMs + Math.max(0, ms), undefined, run),
    startProcess(name, skewMs) {
      const owner: OwnedProcess = { isAlive: true, frozenUntilMs: 0 };
      const after = (ms: number, run: () => void): (() => void) => {
        const event = schedule(nowMs + Math.max(0, ms), owner, run);
        return () => {
          event.isOff = true;
        };
      };
      return {
        name,
        clock: {
          now: () => nowMs,
          wallMs: () => startWallMs + skewMs + Math.floor(nowMs),
          setTimer: after,
        },
        isAlive: () => owner.isAlive,
        isFrozen: () => owner.frozenUntilMs > nowMs,
        kill() {
          owner.isAlive = false;
        },
        freeze(ms) {
          owner.frozenUntilMs = Math.max(owner.frozenUntilMs, nowMs + ms);
        },
        after,
      };
    },
    async run(ms) {
      const endMs = nowMs + ms;
      for (let event = events.peek(); event !== undefined && event.atMs <= endMs; event = events.peek()) {
        if (failure !== undefined) return;
        events.pop();
        const { owner } = event;
        if (event.isOff || owner?.isAlive === false) continue;
        nowMs = Math.max(nowMs, event.atMs);
        if (owner !== undefined && owner.frozenUntilMs > nowMs) {
          // All of them at one time: their order stays.
          event.atMs = owner.frozenUntilMs;
          events.push(event);
          continue;
        }
        steps += 1;
        event.run();
        if (owner === undefined) continue;
        await everythingSettled();
        for (const look of looks) look();
      }
      if (failure === undefined) nowMs = endMs;
    },
    onStep: (look) => void looks.push(look),
    note,
    isTold: tell !== undefined,
    fail(what) {
      if (failure !== undefined) return;
      failure = what;
      note(`BROKEN: ${what}`);
    },
    failure: () => failure,
    steps: () => steps,
  };
}

/** Every settled promise has run its listeners. */
function everythingSettled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

interface Heap {
  push(event: Event): void;
  pop(): void;
  peek(): Event | undefined;
}

function makeHeap(): Heap {
  const items: Event[] = [];
  const isBefore = (a: Event, b: Event): boolean =>
    a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
  const at = (index: number): Event => {
    const item = items[index];
    if (item === undefined) throw new RangeError('There is no such event');
    return item;
  };
  return {
    peek: () => items[0],
    push(event) {
      let index = items.push(event) - 1;
      while (index > 0) {
        const parent = (index - 1) >> 1;
        if (!isBefore(event, at(parent))) break;
        items[index] = at(parent);
        index = parent;
      }
      items[index] = event;
    },
    pop() {
      const last = items.pop();
      if (last === undefined || items.length === 0) return;
      let index = 0;
      for (;;) {
        let child = index * 2 + 1;
        if (child >= items.length) break;
        if (child + 1 < items.length && isBefore(at(child + 1), at(child))) child += 1;
        if (!isBefore(at(child), last)) break;
        items[index] = at(child);
        index = child;
      }
      items[index] = last;
    },
  };
}
