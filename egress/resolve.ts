// Which addresses does a name have now? Asks the resolver once per connection. While the resolver is down or slow, the last
// answer it gave is used for up to 60 s. Answers are not judged here; the caller judges each one each time, old ones too.

import { lookup } from 'node:dns/promises';

export type Resolve = (name: string) => Promise<readonly string[]>;

export interface ResolverOptions {
  /** All addresses of a name, in the order to try them; rejects when there is no answer. */
  readonly resolve: Resolve;
  /** A clock that never goes back, in milliseconds. */
  readonly nowMs: () => number;
  /** With an earlier answer at hand, how long the resolver may think before that one is used. */
  readonly patienceMs: number;
}

const lastAnswerMaxAgeMs = 60_000;
// One connector serves few names. Beyond this the oldest answer is forgotten: that name merely loses its fallback.
const lastAnswersMax = 256;

/**
 * The system's resolver (`/etc/hosts`, search domains, DNS), unsorted. It occupies one of libuv's few threads for as long as
 * it takes, so questions for one name are asked once at a time, and dead names are kept apart (lookup-lanes.ts).
 */
export async function resolveBySystem(name: string): Promise<readonly string[]> {
  const answers = await lookup(name, { all: true, order: 'verbatim' });
  return answers.map((answer) => answer.address);
}

export function createResolver({ resolve, nowMs, patienceMs }: ResolverOptions): Resolve {
  const lastAnswers = new Map<string, { addresses: readonly string[]; atMs: number }>();
  const questions = new Map<string, Question>();

  function ask(name: string): Question {
    const running = questions.get(name);
    if (running !== undefined) return running;
    const answer = Promise.try(resolve, name)
      .then((addresses) => {
        if (addresses.length === 0) throw new Error(`the resolver has no address for ${name}`);
        keepAnswer(name, addresses);
        return addresses;
      })
      .finally(() => questions.delete(name));
    const question = { answer, askedAtMs: nowMs() };
    questions.set(name, question);
    return question;
  }

  function keepAnswer(name: string, addresses: readonly string[]): void {
    lastAnswers.delete(name);
    lastAnswers.set(name, { addresses, atMs: nowMs() });
    const [oldest] = lastAnswers.keys();
    if (lastAnswers.size > lastAnswersMax && oldest !== undefined) lastAnswers.delete(oldest);
  }

  function lastAnswer(name: string): readonly string[] | undefined {
    const last = lastAnswers.get(name);
    return last !== undefined && nowMs() - last.atMs <= lastAnswerMaxAgeMs ? last.addresses : undefined;
  }

  return async (name) => {
    const { answer, askedAtMs } = ask(name);
    if (lastAnswer(name) === undefined) return answer;
    const { promise: patienceOver, resolve: endPatience } = Promise.withResolvers<undefined>();
    // Counted from when the question was put: behind a dead resolver only the first connection waits.
    const timer = setTimeout(endPatience, patienceMs - (nowMs() - askedAtMs), undefined);
    try {
      return (await Promise.race([answer, patienceOver])) ?? lastAnswer(name) ?? (await answer);
    } catch (error) {
      const last = lastAnswer(name);
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
