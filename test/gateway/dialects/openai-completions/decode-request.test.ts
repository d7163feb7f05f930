// What does a completion request ask for, and how many upstream calls does it make?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import type { ModelAnswer } from '../../../../gateway/dialects/conversation.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import { completionSchema } from '../../../support/openapi/completions-schema.ts';
import { bodyOf } from '../support/upstream-call.ts';

const head = { id: 'x1', createdAt: 1_800_000_000, model: 'm', inputEstimate: 7 };

function translate(request: Record<string, unknown>, upstreams: readonly DialectName[] = ['openai-chat']) {
  return openAiCompletions.translate(bodyOf({ model: 'm', prompt: 'p', ...request }), {
    upstreams: new Set(upstreams),
    header: () => undefined,
  });
}

test.each<[Record<string, unknown>, string[]]>([
  [{}, []],
  [
    {
      ...{
        n: 1,
        best_of: 1,
        temperature: 1,
        top_p: 1,
        presence_penalty: 0,
        echo: false,
        suffix: '',
        stop: [],
      },
      ...{
        logit_bias: {},
        logprobs: null,
        user: null,
        stream: true,
        stream_options: { include_usage: true },
      },
    },
    [],
  ],
  [{ prompt: ['a', 'b'] }, ['several-prompts prompt']],
  [{ n: 2, best_of: 2 }, ['choices n']],
  [{ best_of: 2 }, ['best-of best_of']],
  [{ echo: true, suffix: 's' }, ['echo echo', 'suffix suffix']],
  [{ logprobs: 0 }, ['logprobs logprobs']],
  [
    { max_tokens: 1, user: 'u', strange: 1 },
    ['end-user user', 'max-tokens max_tokens', 'unknown-member strange'],
  ],
  [
    { temperature: 2, top_p: 0, seed: 0, frequency_penalty: 1, logit_bias: { 5: 1 }, stop: '\n' },
    [
      'blank-stop stop',
      'logit-bias logit_bias',
      'penalties frequency_penalty',
      'seed seed',
      'stop stop',
      'temperature temperature',
      'temperature-above-1 temperature',
      'top-p top_p',
      'top-p-beside-temperature top_p',
    ],
  ],
])('%j asks for %j', (request, wanted) => {
  const { conversations } = translate(request);
  for (const { asks } of conversations) {
    expect(asks.map(({ feature, param }) => `${feature} ${param}`).sort()).toEqual(wanted);
  }
});

describe('where an upstream may be asked that gives one answer a call', () => {
  const upstreams: readonly DialectName[] = ['openai-chat', 'anthropic-messages'];
  const request = { prompt: ['a', 'b'], n: 2, seed: 7, echo: true };

  test('every answer is a separate call with a separate seed', () => {
    const { conversations } = translate(request, upstreams);
    expect(
      conversations.map(({ turns, choices, sampling }) => [turns[0]?.parts[0], choices, sampling.seed]),
    ).toEqual([
      [{ type: 'text', text: 'a' }, 1, 7],
      [{ type: 'text', text: 'a' }, 1, 8],
      [{ type: 'text', text: 'b' }, 1, 7],
      [{ type: 'text', text: 'b' }, 1, 8],
    ]);
    expect(translate(request, ['openai-responses']).conversations).toHaveLength(4);
    expect(translate(request, ['openai-chat', 'openai-completions']).conversations).toHaveLength(2);
  });

  test('answers to one prompt are one and the same call, where no seed makes them different', () => {
    const { conversations } = translate({ prompt: ['a', 'b'], n: 3 }, upstreams);
    expect(conversations.map((conversation) => conversations.indexOf(conversation))).toEqual([
      0, 0, 0, 3, 3, 3,
    ]);
  });

  test('the choices are numbered prompt × n + sample, each behind its own prompt', () => {
    const answers = ['1', '2', '3', '4'].map(
      (text): ModelAnswer => ({
        id: 'up',
        model: 'served',
        createdAt: 1,
        choices: [{ index: 0, parts: [{ type: 'text', text }], finish: 'stop' }],
      }),
    );
    const translation = translate({ ...request, stream: true }, upstreams);
    const bytes = translation.encodeAnswer(answers, head);
    const { choices } = completionSchema.parse(JSON.parse(bytes.toString('utf8')));
    const wanted = ['0 a1', '1 a2', '2 b3', '3 b4'];
    expect(choices.map(({ index, text }) => `${index} ${text}`)).toEqual(wanted);

    const encoder = translation.streamEncoder(head);
    const streamed = answers.map((_, call) =>
      encoder.open(call).encode([
        { type: 'part-start', choice: 0, index: 0, head: { type: 'text' } },
        { type: 'part-delta', choice: 0, index: 0, text: String(call + 1) },
      ]),
    );
    const events = streamed.map((sent) =>
      sent
        .split('\n\n')
        .filter(Boolean)
        .map((event) => JSON.parse(event.slice(6)).choices[0]),
    );
    expect(events.map((list) => `${list[0].index} ${list.map(({ text }) => text).join('')}`)).toEqual(wanted);
  });

  test.each([
    [['a', 'b'], 64, false],
    [['a', 'b'], 65, true],
    ['a', 128, false],
  ])('prompts %j times n %d: refused %s', (prompt, n, isRefused) => {
    const run = () => translate({ prompt, n }, upstreams).conversations.length;
    if (isRefused)
      expect(run).toThrow(expect.objectContaining({ code: 'invalid_parameter', param: 'prompt' }));
    else expect(run()).toBe(128);
  });
});
