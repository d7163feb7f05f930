// A model behind two targets of which one speaks completions alone and one chat alone: does a completion get its answer
// from either, and does nothing get lost or refused that one of the two can do?

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import { type Behaviour, startWall, type Wall } from '../support/wall.ts';
import { type AskOptions, ask, dataOf, errorOf, isBag, lineOf, parseJson, type Seen, textOf } from './ask.ts';

const priced = { input: 2_000_000, output: 8_000_000, source: 'target' };
const orders = [
  ['completions', 'chat'],
  ['chat', 'completions'],
] as const;
type Name = (typeof orders)[number][number];
const dialectOf: Record<Name, DialectName> = { chat: 'openai-chat', completions: 'openai-completions' };
const voiceOf: Record<Name, string> = { chat: '/v1/chat/completions', completions: '/v1/completions' };
const shapes = [
  ['plain', false],
  ['streamed', true],
] as const;

let walls: Record<Name, Wall>;
const rigs: Rig[] = [];

beforeEach(async () => {
  walls = { chat: await startWall(), completions: await startWall() };
});

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
  await Promise.all([walls.chat.close(), walls.completions.close()]);
});

async function rigOf(...names: readonly Name[]): Promise<Rig> {
  const rig = await startRig(
    tableOf(
      names.map((name) => ({
        name,
        baseUrl: walls[name].baseUrl,
        dialects: [dialectOf[name]],
        price: priced,
        providerEntry: { dialects: [dialectOf[name]] },
      })),
    ),
  );
  rigs.push(rig);
  return rig;
}

const complete = (rig: Rig, isStream: boolean, more: object = {}) =>
  ask(rig, { endpoint: 'completions', isStream, more });

const broken: Behaviour = { type: 'status', status: 501 };

/** Every document of an answer, plain or streamed. */
function documentsOf(seen: Seen): Record<string, unknown>[] {
  const documents = seen.json === undefined ? dataOf(seen).map(parseJson) : [seen.json];
  return documents.filter(isBag);
}

/** Text and end of each choice, by index. */
function choicesOf(seen: Seen): Record<string, { text: string; finish: unknown }> {
  const choices: Record<string, { text: string; finish: unknown }> = {};
  for (const { choices: listed } of documentsOf(seen)) {
    for (const choice of Array.isArray(listed) ? listed : []) {
      if (!isBag(choice)) continue;
      const known = choices[String(choice.index)] ?? { text: '', finish: null };
      choices[String(choice.index)] = {
        text: known.text + String(choice.text ?? ''),
        finish: choice.finish_reason ?? known.finish,
      };
    }
  }
  return choices;
}

/** A text completion from head to end, whichever target it came from. */
function expectCompletion(seen: Seen, isStream: boolean): void {
  expect([seen.status, errorOf(seen)]).toEqual([200, undefined]);
  expect(documentsOf(seen).map(({ object }) => object)).toEqual(
    documentsOf(seen).map(() => 'text_completion'),
  );
  expect(seen.ending).toBe(isStream ? 'last-chunk' : 'length-complete');
  if (isStream) expect(dataOf(seen).at(-1)).toBe('[DONE]');
}

describe.each(orders)('with %s first and %s second', (first, second) => {
  test.each(shapes)('a %s completion is served by the first', async (_, isStream) => {
    const rig = await rigOf(first, second);
    walls[first].script({ type: 'answer', text: `says ${first}` });
    const seen = await complete(rig, isStream);
    expectCompletion(seen, isStream);
    expect(choicesOf(seen)).toEqual({ 0: { text: `says ${first}`, finish: 'stop' } });
    expect(walls[first].calls.map(({ path }) => path)).toEqual([voiceOf[first]]);
    expect(walls[second].calls).toEqual([]);
    expect(rig.records.map(({ clientDialect, upstreamDialect }) => [clientDialect, upstreamDialect])).toEqual(
      [['openai-completions', dialectOf[first]]],
    );
  });

  const faults: readonly (readonly [string, Behaviour])[] = [
    ['answers 501', broken],
    ['resets the connection', { type: 'reset' }],
    ['ends before its content', { type: 'cut', after: { contentEvents: 0 } }],
    ['tells an error in its stream', { type: 'error-event', afterEvents: 0 }],
    ['sends what is no answer', { type: 'html' }],
  ];
  describe.each(faults)('if the first %s', (_fault, behaviour) => {
    test.each(shapes)('a %s completion is served by the second, completely', async (_, isStream) => {
      const rig = await rigOf(first, second);
      walls[first].script(behaviour);
      walls[second].script({ type: 'answer', text: `says ${second}` });
      const seen = await complete(rig, isStream, isStream ? { stream_options: { include_usage: true } } : {});
      expectCompletion(seen, isStream);
      expect(choicesOf(seen)).toEqual({ 0: { text: `says ${second}`, finish: 'stop' } });
      // A reset is tried again at once, also where there is another.
      const tries = behaviour.type === 'reset' ? 2 : 1;
      expect(seen.headers['x-penstock-attempts']).toBe(String(tries + 1));
      expect([walls[first].calls.length, walls[second].calls.length]).toEqual([tries, 1]);
      expect(rig.records.map(({ target, outcome, payer }) => [target, outcome, payer])).toEqual([
        ...Array.from({ length: tries }, () => [first, 'failed', 'platform']),
        [second, 'answered', 'tenant'],
      ]);
      const { inputTokens, outputTokens } = walls[second].totals();
      expect(documentsOf(seen).at(-1)?.usage).toMatchObject({
        prompt_tokens: inputTokens,
        completion_tokens: outputTokens,
      });
      expect(rig.records.at(-1)?.costPicodollars).toBe(inputTokens * 2_000_000 + outputTokens * 8_000_000);
      expect(rig.failures).toEqual([]);
    });
  });

  test.each(shapes)('a %s completion that no target can serve gets one error', async (_, isStream) => {
    const rig = await rigOf(first, second);
    for (const wall of [walls.chat, walls.completions]) wall.script(broken);
    const seen = await complete(rig, isStream);
    expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_error']);
    expect(rig.records.map(lineOf)).toEqual([
      `1 ${first} failed status_501 platform`,
      `2 ${second} failed status_501 platform`,
    ]);
  });

  test.each(shapes)(
    'a caller’s mistake that the first sees is not tried at the second: %s',
    async (_, isStream) => {
      const rig = await rigOf(first, second);
      walls[first].script({ type: 'status', status: 400, error: { message: 'too hot' } });
      const seen = await complete(rig, isStream);
      expect([seen.status, errorOf(seen)?.message]).toEqual([400, 'too hot']);
      expect(walls[second].calls).toEqual([]);
    },
  );

  test.each(shapes)(
    'a %s chat is served by the first, by the second when that fails, and with tools by the chat target only',
    async (_, isStream) => {
      const rig = await rigOf(first, second);
      expect((await ask(rig, { isStream })).status).toBe(200);
      expect(walls[second].calls).toEqual([]);
      walls[first].script(broken);
      expect((await ask(rig, { isStream })).status).toBe(200);
      expect(walls[second].calls).toHaveLength(1);
      walls.chat.script(broken);
      const before = walls.completions.calls.length;
      const tools = [{ type: 'function', function: { name: 'f' } }];
      expect((await ask(rig, { isStream, more: { tools } })).status).toBe(502);
      expect(walls.completions.calls).toHaveLength(before);
    },
  );

  /** What only a completions upstream can do. */
  const peculiar: readonly (readonly [string, object, readonly ('plain' | 'streamed')[]])[] = [
    ['suffix', { suffix: ' the end' }, ['plain', 'streamed']],
    ['logprobs', { logprobs: 2 }, ['plain', 'streamed']],
    ['best_of', { best_of: 3 }, ['plain']],
    ['all of them', { suffix: ' the end', logprobs: 0, best_of: 2, n: 2 }, ['plain']],
  ];
  describe.each(peculiar)('%s', (_name, members, possible) => {
    const wanted = shapes.filter(([shape]) => possible.some((one) => one === shape));

    test.each(wanted)(
      'is served by the completions target alone, as it was asked: %s',
      async (_, isStream) => {
        const rig = await rigOf(first, second);
        expectCompletion(await complete(rig, isStream, members), isStream);
        expect(walls.completions.calls.map(({ json }) => json)).toEqual([expect.objectContaining(members)]);
        expect(walls.chat.calls).toEqual([]);
      },
    );

    test.each(wanted)(
      'does not move to the chat target when the completions target fails: %s',
      async (_, isStream) => {
        const rig = await rigOf(first, second);
        walls.completions.script(broken);
        const seen = await complete(rig, isStream, members);
        expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_error']);
        expect(walls.chat.calls).toEqual([]);
        expect(walls.completions.calls.length).toBeGreaterThan(0);
      },
    );
  });

  /** What says nothing, and must not take a target away. */
  test.each([{ suffix: '' }, { best_of: 1 }, { logprobs: null }, { suffix: null, best_of: null }])(
    '%o changes nothing',
    async (members) => {
      const rig = await rigOf(first, second);
      walls[first].script(broken);
      expectCompletion(await complete(rig, false, members), false);
      expect([walls[first].calls.length, walls[second].calls.length]).toEqual([1, 1]);
    },
  );

  describe('several prompts', () => {
    const prompts = ['one', 'two', 'three'];
    /** The prompt of a call, in either dialect. */
    const promptOf = (json: unknown): unknown => {
      if (!isBag(json)) return undefined;
      const [message] = Array.isArray(json.messages) ? json.messages : [];
      return isBag(message) ? message.content : json.prompt;
    };
    const echo =
      (from: Name) =>
      ({ json }: { readonly json: unknown }): Behaviour => ({
        type: 'answer',
        choices: [{ text: `${from}: ${promptOf(json)} a` }, { text: `${from}: ${promptOf(json)} b` }],
      });

    test.each(shapes)(
      'each get their answers, by prompt and sample, from the first: %s',
      async (_, isStream) => {
        const rig = await rigOf(first, second);
        walls[first].script(echo(first));
        const seen = await complete(rig, isStream, { prompt: prompts, n: 2 });
        expectCompletion(seen, isStream);
        expect(choicesOf(seen)).toEqual(
          Object.fromEntries(
            prompts.flatMap((prompt, at) => [
              [at * 2, { text: `${first}: ${prompt} a`, finish: 'stop' }],
              [at * 2 + 1, { text: `${first}: ${prompt} b`, finish: 'stop' }],
            ]),
          ),
        );
        expect(walls[second].calls).toEqual([]);
      },
    );

    test.each(shapes)('continue at the second one by one if the first breaks: %s', async (_, isStream) => {
      const rig = await rigOf(first, second);
      walls[first].script((call) => (promptOf(call.json) === 'two' ? broken : echo(first)(call)));
      walls[second].script(echo(second));
      const usage = isStream ? { stream_options: { include_usage: true } } : {};
      const seen = await complete(rig, isStream, { prompt: prompts, n: 2, ...usage });
      expectCompletion(seen, isStream);
      const texts = Object.values(choicesOf(seen)).map(({ text }) => text);
      expect(texts).toEqual([
        ...[`${first}: one a`, `${first}: one b`],
        ...[`${second}: two a`, `${second}: two b`],
        ...[`${first}: three a`, `${first}: three b`],
      ]);
      expect(rig.records.map(({ target, outcome }) => `${target} ${outcome}`).sort()).toEqual(
        [`${first} answered`, `${first} answered`, `${first} failed`, `${second} answered`].sort(),
      );
      expect(new Set(rig.records.map(({ id }) => id)).size).toBe(4);
      const outputTokens = walls.chat.totals().outputTokens + walls.completions.totals().outputTokens;
      expect(documentsOf(seen).at(-1)?.usage).toMatchObject({ completion_tokens: outputTokens });
      expect(rig.records.reduce((sum, { usage: counted }) => sum + counted.output, 0)).toBe(outputTokens);
    });

    test.each(shapes)('with a suffix go in one call to the completions target: %s', async (_, isStream) => {
      const rig = await rigOf(first, second);
      const seen = await complete(rig, isStream, { prompt: prompts, suffix: ' the end' });
      expect(seen.status).toBe(200);
      expect(walls.completions.calls.map(({ json }) => promptOf(json))).toEqual([prompts]);
      expect(walls.chat.calls).toEqual([]);
    });

    test.each(shapes)(
      'share one fate, %s: where one fails everywhere, the whole is an error, and only what was delivered is paid for',
      async (_, isStream) => {
        const rig = await rigOf(first, second);
        for (const name of [first, second]) {
          walls[name].script((call) => (promptOf(call.json) === 'three' ? broken : echo(name)(call)));
        }
        const seen = await complete(rig, isStream, { prompt: prompts });
        if (!isStream) {
          expect([seen.status, errorOf(seen)?.code]).toEqual([502, 'upstream_error']);
          expect(seen.text).not.toContain('one');
        }
        const paid = rig.records.filter(({ outcome }) => outcome !== 'failed').map(({ payer }) => payer);
        expect(paid.length).toBeGreaterThan(0);
        expect([...new Set(paid)]).toEqual([isStream ? 'tenant' : 'platform']);
      },
    );
  });
});

test.each([
  ['suffix', { suffix: ' the end' }],
  ['logprobs', { logprobs: 0 }],
  ['best_of', { best_of: 3 }],
])('%s is refused by name and without a call if no target speaks completions', async (name, members) => {
  const rig = await rigOf('chat');
  const seen = await complete(rig, false, members);
  expect([seen.status, seen.json]).toEqual([
    400,
    {
      error: expect.objectContaining({
        code: 'unsupported_parameter',
        param: name,
        message: expect.stringContaining(`'${name}'`),
      }),
    },
  ]);
  expect([walls.chat.calls.length, rig.records.length]).toEqual([0, 0]);
});

test('a drained completions target does not count: the parameter is rejected', async () => {
  const table = tableOf([
    { name: 'completions', baseUrl: walls.completions.baseUrl, dialects: ['openai-completions'], weight: 0 },
    { name: 'chat', baseUrl: walls.chat.baseUrl, dialects: ['openai-chat'] },
  ]);
  const rig = await startRig(table);
  rigs.push(rig);
  const seen = await complete(rig, false, { suffix: ' the end' });
  expect([seen.status, errorOf(seen)?.code]).toEqual([400, 'unsupported_parameter']);
});

test.each(orders)('both answer alike: %s and %s give the same text', async (...names) => {
  const texts: string[] = [];
  for (const name of names) {
    const rig = await rigOf(name);
    const options: AskOptions = { endpoint: 'completions', isStream: true };
    texts.push(textOf(await ask(rig, options)));
  }
  expect(texts[0]).not.toBe('');
  expect(texts[0]).toBe(texts[1]);
});
