// Which addresses does a name have now? Asks the resolver once per connection. While the resolver is down or slow, the last
// answer it gave serves for 60 s more. Answers are not judged here; the caller judges each one each time, old ones too.

import { lookup } from 'node:dns/promises';

export type Resolve = (name: string) => Promise<readonly string[]>;

interface ResolverOptions {
  /** All addresses of a name, in the order to try them; rejects when there is no answer. */
  readonly resolve: Resolve;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs: () => number;
  /** How long the resolver may take before an earlier answer is used instead. */
  readonly patienceMs: number;
  /** Default: a private memory. */
  readonly lastAnswers?: LastAnswers;
}

/** The resolver's last answers. Kept connections ask nothing, so one memory serves all connectors of a process. */
export interface LastAnswers {
  keep(name: string, addresses: readonly string[]): void;
  /** The resolver gave none, or none in time. */
  miss(name: string): void;
  find(name: string): readonly string[] | undefined;
}

/** From the first question that got no answer. */
const outageMs = 60_000;
/** A name may keep its answers for long, but not for ever: its address may have another owner later. */
const ageMaxMs = 3_600_000;
// Beyond this the oldest answer is forgotten: that name merely loses its fallback.
const lastAnswersMax = 4_096;

export function createLastAnswers(nowMs: () => number): LastAnswers {
  const answers = new Map<string, LastAnswer>();
  return {
    keep(name, addresses) {
      answers.delete(name);
      answers.set(name, { addresses, atMs: nowMs(), missedSinceMs: undefined });
      const [oldest] = answers.keys();
      if (answers.size > lastAnswersMax && oldest !== undefined) answers.delete(oldest);
    },
    miss(name) {
      const last = answers.get(name);
      if (last) last.missedSinceMs ??= nowMs();
    },
    find(name) {
      const last = answers.get(name);
      if (last === undefined || nowMs() - last.atMs > ageMaxMs) return undefined;
      return nowMs() - (last.missedSinceMs ?? nowMs()) <= outageMs ? last.addresses : undefined;
    },
  };
}

interface LastAnswer {
  readonly addresses: readonly string[];
  readonly atMs: number;
  missedSinceMs: number | undefined;
}

/**
 * The system's resolver (`/etc/hosts`, search domains, DNS), unsorted. It occupies one of libuv's few threads for as long as
 * it takes, so questions for one name are asked once at a time, and dead names are kept apart (lookup-lanes.ts).
 */
export async function resolveBySystem(name: string): Promise<readonly string[]> {
  const answers = await lookup(name, { all: true, order: 'verbatim' });
  return answers.map((answer) => answer.address);
}

export function createResolver(options: ResolverOptions): Resolve {
  const { resolve, nowMs, patienceMs, lastAnswers = createLastAnswers(nowMs) } = options;
  const questions = new Map<string, Question>();

  function ask(name: string): Question {
    const running = questions.get(name);
    if (running !== undefined) return running;
    const answer = Promise.try(resolve, name)
      .then((addresses) => {
        if (addresses.length === 0) throw new Error(`the resolver has no address for ${name}`);
        lastAnswers.keep(name, addresses);
        return addresses;
      })
      .finally(() => questions.delete(name));
    const question = { answer, askedAtMs: nowMs() };
    questions.set(name, question);
    return question;
  }

  return async (name) => {
    const { answer, askedAtMs } = ask(name);
    if (lastAnswers.find(name) === undefined) return answer;
    const { promise: patienceOver, resolve: endPatience } = Promise.withResolvers<undefined>();
    // Counted from when the question was put: behind a dead resolver only the first connection waits.
    const leftMs = Math.max(0, patienceMs - (nowMs() - askedAtMs));
    const timer = setTimeout(endPatience, leftMs, undefined);
    try {
      const inTime = await Promise.race([answer, patienceOver]);
      if (inTime) return inTime;
      lastAnswers.miss(name);
      return lastAnswers.find(name) ?? (await answer);
    } catch (error) {
      lastAnswers.miss(name);
      const last = lastAnswers.find(name);
      if (last === undefined) throw error;
      return last;
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Question {
  readonly answer: Promise<readonly string[]>;
  readonly askedAtMs: number;
}
