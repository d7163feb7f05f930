// In which ways does a stream break? One gateway before one wall, and a model for each way and each pair of dialects; and what a
// program that reads it with an SDK has to be reported.

import { expect } from 'vitest';
import type { DialectName, ProviderEntry } from '../../core/contract/routing-table.ts';
import { isBag, wallText } from '../flow/ask.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { allDialects } from './every-upstream.ts';
import type { Reading } from './stream-readers.ts';

export interface Signal {
  readonly behaviour: Behaviour;
  /** What the program is reported. */
  readonly words: RegExp;
  /** How many tokens it has seen before. */
  readonly tokens: number;
}

const three = { contentEvents: 3 };

export const signals = {
  'is cut': {
    behaviour: { type: 'cut', after: three, framing: 'close' },
    words: /broke off: the upstream ended the answer before it was complete/,
    tokens: 3,
  },
  'is reset': {
    behaviour: { type: 'reset', after: three },
    words: /broke off/,
    tokens: 3,
  },
  'falls silent': {
    behaviour: { type: 'stall', after: three },
    words: /broke off: the upstream was silent for too long \(liveness\)/,
    tokens: 3,
  },
  'is refused in its middle': {
    behaviour: {
      type: 'error-event',
      afterEvents: 9,
      error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Please try again in 7s.' },
      followedBy: 'end-marker',
    },
    words: /broke off: the upstream reported an error\. Please try again in 7s\./,
    tokens: 1,
  },
  'was opened without content, and is cut': {
    // Behind what is no content yet; the gateway opens its own answer before that ends.
    behaviour: { type: 'stall', after: { events: 1 }, for: { ms: 0 }, followedBy: 'fin' },
    words: /could answer \(1 attempt; the upstream ended the answer before it was complete\)/,
    tokens: 0,
  },
} as const satisfies Record<string, Signal>;
type SignalName = keyof typeof signals;
export const signalNames = Object.keys(signals).filter((name): name is SignalName => name in signals);

/** Passing through, and one translation. */
const pairs: readonly (readonly [client: DialectName, upstream: DialectName])[] = [
  ...allDialects.map((dialect) => [dialect, dialect] as const),
  ['openai-chat', 'anthropic-messages'],
  ['openai-completions', 'openai-chat'],
  ['openai-responses', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
];

/** Completions have no event without content: their first one would open the stream. */
const isPossible = (signal: SignalName, upstream: DialectName): boolean =>
  signals[signal].tokens > 0 || upstream !== 'openai-completions';

export const cases = pairs.flatMap(([client, upstream]) =>
  signalNames
    .filter((signal) => isPossible(signal, upstream))
    .map((signal) => ({
      client,
      upstream,
      signal,
      model: `${client}/${upstream}/${signal.replaceAll(/\W+/g, '-')}`,
    })),
);

export interface BrokenStage {
  readonly rig: Rig;
  readonly wall: Wall;
  close(): Promise<void>;
}

/** @param times When the gateway opens an answer that has no content yet, and how long a provider is silent then; in ms. */
export async function startBrokenStage(times: {
  readonly openAfterMs: number;
  readonly silenceMs: number;
}): Promise<BrokenStage> {
  const wall = await startWall(({ json }) => {
    const model = isBag(json) ? json.model : undefined;
    const signal = cases.find((one) => one.model === model)?.signal;
    if (signal === undefined) return { type: 'answer' };
    const { behaviour } = signals[signal];
    return 'for' in behaviour ? { ...behaviour, for: { ms: times.silenceMs } } : behaviour;
  });
  const tables = cases.map((one) => tableFor(one, wall.baseUrl));
  const table = {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
    credentials: tables.flatMap(({ credentials }) => credentials),
  };
  const rig = await startRig(table, { random: () => 0, openAfterMs: times.openAfterMs });
  return {
    rig,
    wall,
    async close() {
      await rig.close();
      await wall.close();
    },
  };
}

function tableFor({ client, upstream, signal, model }: (typeof cases)[number], baseUrl: string) {
  const dialects = [upstream];
  const providerEntry: Partial<ProviderEntry> = {
    dialects,
    breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 },
  };
  const name = model.replaceAll('/', '-');
  // A key that learnt of a rate limit is tried by one caller at a time; there are enough for all that read at once.
  const keys = Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`key-${index}`, `value-${index}`]),
  );
  const provider = { provider: `platform/${name}`, providerEntry, keys };
  return tableOf([{ baseUrl, ...provider, dialects, upstreamModel: model }], {
    id: `team/${name}`,
    model,
    endpoints: [client],
    timeouts: signal === 'falls silent' ? { livenessMs: 60 } : {},
  });
}

/** That the program was reported, in our words, and had seen the beginning of the answer. */
export function expectRaised(reading: Reading | undefined, { words, tokens }: Signal, where: string): void {
  expect([where, reading?.end]).toEqual([where, 'raised']);
  expect(reading?.message, where).toMatch(words);
  // Some events carry no token, or two of them; what counts is that there was text, and that it was the beginning of the answer.
  expect(wallText.startsWith(reading?.text ?? '-'), `${where}: ${reading?.text}`).toBe(true);
  expect((reading?.text ?? '') !== '', where).toBe(tokens > 0);
}
