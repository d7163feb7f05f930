// What is a completions upstream sent for a conversation of any dialect, and what does its answer mean?

import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { Conversation, Turn } from '../../../../gateway/dialects/conversation.ts';
import { openAiCompletions } from '../../../../gateway/dialects/openai-completions/index.ts';
import { done, frame, piece } from '../support/openai-streams.ts';
import { readPieces } from '../support/read-pieces.ts';
import { completionDecoder, makeConversation, target, tidyBody } from '../support/upstream-call.ts';

const turn = (role: Turn['role'], text: string): Turn => ({ role, parts: [{ type: 'text', text }] });
const sent = (more: Partial<Conversation>) => tidyBody(openAiCompletions, makeConversation(more));

describe('the prompt', () => {
  test.each<[string, Partial<Conversation>, string]>([
    ['the one text of a user, verbatim', { turns: [turn('user', ' a\n')] }, ' a\n'],
    ['white space, where that is all there is', { turns: [turn('user', ' ')] }, ' '],
    [
      'labelled lines behind system text',
      {
        system: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Be kind.' },
        ],
        turns: [turn('user', 'a')],
      },
      'Be brief.\nBe kind.\nuser: a\nassistant:',
    ],
    [
      'labelled lines for several turns, later system text in line',
      { turns: [turn('user', 'a'), turn('assistant', 'b'), turn('system', 's'), turn('user', 'c')] },
      'user: a\nassistant: b\ns\nuser: c\nassistant:',
    ],
    [
      'without thinking, with refusals and text documents',
      {
        turns: [
          {
            role: 'user',
            parts: [
              { type: 'text', text: 'a' },
              {
                type: 'file',
                source: {
                  kind: 'base64',
                  mediaType: 'text/plain',
                  data: Buffer.from('x').toString('base64'),
                },
                filename: 'x.txt',
              },
            ],
          },
          {
            role: 'assistant',
            parts: [
              { type: 'thinking', text: 'hm' },
              { type: 'refusal', text: 'no' },
            ],
          },
          turn('user', 'b'),
        ],
      },
      'user: a\nx.txt\nx\nassistant: no\nuser: b\nassistant:',
    ],
  ])('is %s', (_, conversation, wanted) => {
    expect(sent(conversation).prompt).toBe(wanted);
  });
});

describe('the stop sequences', () => {
  const turns = [turn('user', 'a'), turn('assistant', 'b'), turn('user', 'c')];
  const open = (conversation: Partial<Conversation>) => {
    const { body, stopsLeft } = openAiCompletions.asUpstream.open(makeConversation(conversation), target);
    return { stop: JSON.parse(body.toString('utf8')).stop, stopsLeft };
  };
  const four = ['1', '2', '3', '4'];

  test.each<[string, Partial<Conversation>, unknown]>([
    ['none for a verbatim prompt', {}, {}],
    ['those of the caller for a verbatim prompt', { sampling: { stop: four } }, { stop: four }],
    ['where the user would speak', { turns }, { stop: ['\nuser:'] }],
    ['and those of the caller', { turns, sampling: { stop: ['1'] } }, { stop: ['\nuser:', '1'] }],
    [
      'four at most; then the gateway cuts at all of them',
      { turns, sampling: { stop: four } },
      { stop: ['\nuser:', '1', '2', '3'], stopsLeft: ['\nuser:', ...four] },
    ],
    [
      'those of the caller only, where several answers leave no room for ours',
      { turns, sampling: { stop: four }, choices: 2 },
      { stop: four },
    ],
  ])('are %s', (_, conversation, wanted) => {
    expect(open(conversation)).toEqual({ stop: undefined, stopsLeft: undefined, ...(wanted as object) });
  });
});

test('the request has every member that the dialect knows', () => {
  const body = sent({
    sampling: { temperature: 0.5, topP: 0.9, topK: 3, seed: 1, presencePenalty: 1, logitBias: { 5: 1 } },
    maxOutputTokens: 9,
    logprobs: { top: 2 },
    choices: 2,
    endUser: 'u'.repeat(65),
    verbosity: 'low',
    store: true,
  });
  expect(body).toEqual({
    model: 'up',
    prompt: 'p',
    n: 2,
    presence_penalty: 1,
    frequency_penalty: 0,
    temperature: 0.5,
    top_p: 0.9,
    seed: 1,
    logit_bias: { 5: 1 },
    max_tokens: 9,
    logprobs: 2,
    user: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
});

describe('log probabilities', () => {
  const logprobs = {
    tokens: ['Hi', '!'],
    token_logprobs: [-0.5, null],
    top_logprobs: [{ Hi: -0.5, Ho: -1 }, null],
    text_offset: [0, 2],
  };
  const wanted = [
    {
      token: 'Hi',
      logprob: -0.5,
      bytes: null,
      top_logprobs: [
        { token: 'Hi', logprob: -0.5, bytes: null },
        { token: 'Ho', logprob: -1, bytes: null },
      ],
    },
    { token: '!', logprob: -9999, bytes: null, top_logprobs: [] },
  ];

  test('of a plain answer', () => {
    const body = { choices: [{ index: 0, text: 'Hi!', logprobs, finish_reason: 'stop' }] };
    const call = openAiCompletions.asUpstream.open(makeConversation(), target);
    const decoded = call.decodeAnswer(Buffer.from(JSON.stringify(body)));
    expect(decoded).toMatchObject({ ok: true, answer: { choices: [{ logprobs: wanted }] } });
  });

  test('of a stream', () => {
    const chunk = piece('Hi!', 'stop');
    const events = frame({ ...chunk, choices: [{ index: 0, text: 'Hi!', logprobs, finish_reason: 'stop' }] });
    const { out } = readPieces(completionDecoder(), [Buffer.from(events + done)]);
    expect(gatherChoice(out.flat(), 0)).toMatchObject({
      parts: [{ type: 'text', text: 'Hi!' }],
      logprobs: wanted,
    });
  });

  test.each([null, 7, {}, { tokens: 'x' }, { tokens: [] }, { tokens: [1], token_logprobs: ['x'] }])(
    'of odd form (%j) are ignored',
    (odd) => {
      const body = { choices: [{ index: 0, text: 'a', logprobs: odd }] };
      const call = openAiCompletions.asUpstream.open(makeConversation(), target);
      expect(call.decodeAnswer(Buffer.from(JSON.stringify(body)))).toMatchObject({
        ok: true,
        answer: { choices: [{ parts: [{ type: 'text', text: 'a' }] }] },
      });
    },
  );
});
