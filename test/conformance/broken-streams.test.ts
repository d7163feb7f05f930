// However a stream breaks, does every official SDK raise, and in the gateway's words? In plain iteration and by its helpers, passing
// through and translated; also where the stream was opened before there was any content, to keep intermediaries alive.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DialectName, ProviderEntry } from '../../gateway/contract/routing-table.ts';
import { isBag, wallText } from '../flow/ask.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { allDialects } from './every-upstream.ts';
import { type Errand, pythonSdks, readInPython } from './python-readers.ts';
import { nodeReaders, olderNodeReaders, type Reading } from './stream-readers.ts';

interface Signal {
  readonly behaviour: Behaviour;
  /** What the program is told. */
  readonly words: RegExp;
  /** How many tokens it has seen before. */
  readonly tokens: number;
}

const quick = { livenessMs: 60 };
const three = { contentEvents: 3 };

const signals = {
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
    words: /broke off: the upstream was silent too long \(liveness\)/,
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
    behaviour: { type: 'stall', after: { events: 1 }, for: { ms: 150 }, followedBy: 'fin' },
    words: /could answer \(1 attempt; the upstream ended the answer before it was complete\)/,
    tokens: 0,
  },
} as const satisfies Record<string, Signal>;
type SignalName = keyof typeof signals;
const signalNames = Object.keys(signals).filter((name): name is SignalName => name in signals);

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

const cases = pairs.flatMap(([client, upstream]) =>
  signalNames
    .filter((signal) => isPossible(signal, upstream))
    .map((signal) => ({
      client,
      upstream,
      signal,
      model: `${client}/${upstream}/${signal.replaceAll(/\W+/g, '-')}`,
    })),
);

let wall: Wall;
let rig: Rig;

beforeAll(async () => {
  wall = await startWall(({ json }) => {
    const model = isBag(json) ? json.model : undefined;
    const signal = cases.find((one) => one.model === model)?.signal;
    return signal === undefined ? { type: 'answer' } : signals[signal].behaviour;
  });
  const tables = cases.map(({ client, upstream, signal, model }) => {
    const dialects = [upstream];
    const providerEntry: Partial<ProviderEntry> = {
      dialects,
      breaker: { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 },
    };
    const name = model.replaceAll('/', '-');
    return tableOf(
      [
        {
          baseUrl: wall.baseUrl,
          provider: `platform/${name}`,
          providerEntry,
          dialects,
          upstreamModel: model,
        },
      ],
      { id: `team/${name}`, model, endpoints: [client], timeouts: signal === 'falls silent' ? quick : {} },
    );
  });
  const table = {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
  rig = await startRig(table, { random: () => 0, openAfterMs: 40 });
});

afterAll(async () => {
  await rig.close();
  await wall.close();
});

function expectRaised(reading: Reading | undefined, { words, tokens }: Signal, where: string): void {
  expect([where, reading?.end]).toEqual([where, 'raised']);
  expect(reading?.message, where).toMatch(words);
  // Some events carry no token, or two of them; what counts is that there was text, and that it was the beginning of the answer.
  expect(wallText.startsWith(reading?.text ?? '-'), `${where}: ${reading?.text}`).toBe(true);
  expect((reading?.text ?? '') !== '', where).toBe(tokens > 0);
}

describe.each(signalNames)('a stream that %s', (signal) => {
  test.each(['today', 'before'] as const)('is raised by the SDKs for Node of %s', async (age) => {
    for (const { client, upstream, model } of cases.filter((one) => one.signal === signal)) {
      const readers = age === 'today' ? nodeReaders : olderNodeReaders;
      for (const reader of readers.filter(({ dialect }) => dialect === client)) {
        const reading = await reader.read(rig, model, 'three plain words');
        expectRaised(reading, signals[signal], `${reader.sdk}, ${reader.way}, ${client} from ${upstream}`);
      }
    }
  });
});

test.each(pythonSdks)('each of these streams is raised by $sdk', { timeout: 300_000 }, async (python) => {
  const errands = cases.flatMap(({ client, model }) =>
    python.reads.filter(([dialect]) => dialect === client).map(([dialect, way]) => ({ dialect, way, model })),
  );
  const numbered = errands.map((errand, first): Errand => ({ ...errand, first, count: 1 }));
  const readings = await readInPython(python, rig, numbered, { atOnce: 8, timeoutMs: 240_000 });
  for (const { model, way, first } of numbered) {
    const signal = cases.find((one) => one.model === model)?.signal;
    if (signal === undefined) throw new Error(`${model} is no case`);
    expectRaised(readings.get(first), signals[signal], `${python.sdk}, ${way}, ${model}`);
  }
});
