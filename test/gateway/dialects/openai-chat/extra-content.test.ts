// Does a provider get back what it wants with its calls? Gemini refuses a call without its thought signature. Whatever
// dialect the client speaks, plain and streamed.

import { describe, expect, test } from 'vitest';
import { gatherChoice } from '../../../../gateway/dialects/answer/gather-choice.ts';
import type { Part, Turn } from '../../../../gateway/dialects/conversation.ts';
import { openAiChat } from '../../../../gateway/dialects/openai-chat/index.ts';
import { rebuildAnswer } from '../../../support/rebuild-answer.ts';
import { translateThrough } from '../../../support/translate-through.ts';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import { type Members, questions } from '../support/askings.ts';
import { delta, done, frame } from '../support/openai-streams.ts';
import { readPieces } from '../support/read-pieces.ts';
import { talkative } from '../support/tellings.ts';
import { chatDecoder, makeConversation, target, tidyBody } from '../support/upstream-call.ts';

const [C, R, M] = talkative;
const signed = (value: string) => ({ google: { thought_signature: value } });
const call = (id: string, city: string, extra?: unknown): Members => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: JSON.stringify({ city }) },
  ...(extra === undefined ? {} : { extra_content: extra }),
});

function streamedParts(...deltas: readonly unknown[]): readonly Part[] {
  const text = deltas.map((value) => frame(delta(value))).join('') + frame(delta({}, 'stop')) + done;
  return gatherChoice(readPieces(chatDecoder(), [Buffer.from(text)]).out.flat(), 0).parts;
}

function plainParts(message: Members): readonly Part[] {
  const body = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  const decoded = openAiChat.asUpstream.open(makeConversation(), target).decodeAnswer(body);
  if (!decoded.ok) throw new Error('refused');
  return decoded.answer.choices[0]?.parts ?? [];
}

const kinds = (parts: readonly Part[]): string[] =>
  parts.map((part) => ('text' in part && part.text !== '' ? `${part.type} ${part.text}` : part.type));

/** The messages that the provider of these parts is sent when they come back. */
function sentBack(...parts: readonly Part[]): readonly Members[] {
  const turns: Turn[] = [
    { role: 'user', parts: [{ type: 'text', text: 'p' }] },
    { role: 'assistant', parts },
  ];
  return recordsOf(tidyBody(openAiChat, makeConversation({ turns })).messages);
}

/** The answer of a client's own dialect as the next request's history. */
function echo(client: (typeof talkative)[number], answer: unknown): Members {
  const question = questions[client];
  if (client === R) {
    const outputs = recordsOf(recordOf(answer).output);
    const results = outputs.filter(({ type }) => type === 'function_call');
    return {
      ...question,
      input: [
        { role: 'user', content: 'hi' },
        ...outputs,
        ...results.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'warm' })),
      ],
    };
  }
  const user = { role: 'user', content: 'hi' };
  if (client === M) {
    // A rebuilt answer has no empty texts.
    const content = recordsOf(recordOf(answer).content).map((block) =>
      block.type === 'thinking' ? { thinking: '', ...block } : block,
    );
    const results = content.filter(({ type }) => type === 'tool_use');
    const said = results.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'warm' }));
    return { ...question, messages: [user, { role: 'assistant', content }, { role: 'user', content: said }] };
  }
  const message = recordOf(recordOf(recordsOf(recordOf(answer).choices)[0]).message);
  const results = recordsOf(message.tool_calls).map(({ id }) => ({
    role: 'tool',
    tool_call_id: id,
    content: 'warm',
  }));
  return { ...question, messages: [user, message, ...results] };
}

const through = (client: (typeof talkative)[number], request: Members) =>
  translateThrough(client, C, Buffer.from(JSON.stringify(request)));

function extrasSent(client: (typeof talkative)[number], answer: unknown): unknown {
  const [body] = through(client, echo(client, answer)).sent;
  const messages = recordsOf(recordOf(JSON.parse(String(body))).messages);
  const [said] = messages.filter(({ role }) => role === 'assistant');
  expect(said).not.toHaveProperty('thinking_blocks');
  expect(JSON.stringify(said)).not.toContain('penstock.call_extra');
  return recordsOf(said?.tool_calls).map(({ extra_content }) => extra_content);
}

const drops = (client: (typeof talkative)[number], answer: unknown): unknown => {
  if (client !== M) return answer;
  const blocks = recordsOf(recordOf(answer).content).filter(({ type }) => type !== 'thinking');
  return { ...recordOf(answer), content: blocks };
};

describe.each([
  [R, 'sends all back', (_: unknown, answer: unknown) => answer],
  [M, 'sends all back', (_: unknown, answer: unknown) => answer],
  [M, 'drops thinking', drops],
] as const)('a client of %s that %s', (client, _, kept) => {
  test.each<[string, readonly Members[], readonly unknown[]]>([
    ['the first of two calls', [call('a', 'Rome', signed('S')), call('b', 'Bern')], [signed('S'), undefined]],
    [
      'the second of two calls',
      [call('a', 'Rome'), call('b', 'Bern', signed('S'))],
      [undefined, signed('S')],
    ],
    [
      'two calls',
      [call('a', 'Rome', signed('S')), call('b', 'Bern', signed('T'))],
      [signed('S'), signed('T')],
    ],
    [
      'calls without ids',
      [call('', 'Rome', signed('S')), call('', 'Bern', signed('T'))],
      [signed('S'), signed('T')],
    ],
    ['a call whose id changes', [call('a.b', 'Rome', signed('S'))], [signed('S')]],
  ])('gives back the extra content of %s', (_, tool_calls, wanted) => {
    const message = { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls };
    const plain = through(client, questions[client]).plain(() =>
      Buffer.from(
        JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      ),
    );
    if (plain.type !== 'answered') throw plain.error;
    expect(extrasSent(client, kept(client, JSON.parse(String(plain.body))))).toEqual(wanted);
    const pieces = tool_calls.map((entry, index) => frame(delta({ tool_calls: [{ index, ...entry }] })));
    const text = [frame(delta({ reasoning_content: 'hm' })), ...pieces, frame(delta({}, 'tool_calls')), done];
    const streamed = through(client, { ...questions[client], stream: true }).stream(() => [
      Buffer.from(text.join('')),
    ]);
    if (streamed.type !== 'answered') throw streamed.error;
    expect(extrasSent(client, kept(client, rebuildAnswer(client, streamed.text)))).toEqual(wanted);
  });
});

describe('an answer', () => {
  test('has a call’s extra content right before the call, plain and streamed alike', () => {
    const tool_calls = [call('a', 'Rome', signed('S')), call('b', 'Bern')];
    const plain = plainParts({ content: 'so', reasoning_content: 'hm', tool_calls });
    expect(kinds(plain)).toEqual(['thinking hm', 'text so', 'thinking', 'tool-call', 'tool-call']);
    expect(plain[2]).toMatchObject({
      opaque: {
        origin: 'here',
        state: {
          kind: 'details',
          value: { type: 'penstock.call_extra', id: 'a', extra_content: signed('S') },
        },
      },
    });
    expect(
      streamedParts(
        { reasoning_content: 'hm' },
        { content: 'so' },
        { tool_calls: [{ index: 0, ...tool_calls[0] }] },
        { tool_calls: [{ index: 1, ...tool_calls[1] }] },
      ),
    ).toEqual(plain);
  });

  test('has it once, where every piece has it, and where it comes before the name', () => {
    const parts = streamedParts(
      { tool_calls: [{ index: 0, id: 'a', extra_content: signed('S') }] },
      { tool_calls: [{ index: 0, ...call('a', 'Rome', signed('S')) }] },
      { tool_calls: [{ index: 0, extra_content: signed('S') }] },
    );
    expect(kinds(parts)).toEqual(['thinking', 'tool-call']);
  });

  test('gives back members that follow the beginning of a call', () => {
    const parts = streamedParts(
      { tool_calls: [{ index: 0, ...call('a', 'Rome') }] },
      { tool_calls: [{ index: 0, extra_content: signed('S') }] },
    );
    expect(sentBack(...parts)[1]).toMatchObject({ tool_calls: [{ id: 'a', extra_content: signed('S') }] });
  });

  test('gives back the extra content of its message, and no marks of its thinking', () => {
    const wanted = { role: 'assistant', content: 'so', extra_content: signed('S') };
    const parts = streamedParts(
      { content: 's', extra_content: { google: { thought: true } } },
      { content: 'o' },
      { content: '', extra_content: signed('S') },
    );
    expect(parts).toEqual(plainParts({ content: 'so', extra_content: signed('S') }));
    expect(sentBack(...parts)[1]).toEqual(wanted);
  });

  test('of odd values returns nothing', () => {
    const tool_calls = [call('a', 'Rome', 'x'), call('b', 'Bern', null), call('c', 'Oslo', [])];
    expect(
      kinds(plainParts({ tool_calls, extra_content: 7 })).filter((kind) => kind !== 'tool-call'),
    ).toEqual([]);
  });
});

test('a chat client gives it back through the entries of its details', () => {
  const tool_calls = [call('a', 'Rome', signed('S')), call('b', 'Bern', signed('T'))];
  const parts = plainParts({ content: 'so', reasoning_content: 'hm', tool_calls });
  const extras = parts.filter((part) => part.type === 'thinking');
  const rest = parts.filter((part) => part.type !== 'thinking');
  const [, said] = sentBack(...extras, ...rest);
  expect(said).toMatchObject({ reasoning_content: 'hm' });
  expect(recordsOf(said?.tool_calls).map(({ extra_content }) => extra_content)).toEqual([
    signed('S'),
    signed('T'),
  ]);
  expect(said).not.toHaveProperty('reasoning_details');
});

test('another provider is not shown it', () => {
  const parts = plainParts({ tool_calls: [call('a', 'Rome', signed('S'))] }).map((part) =>
    part.type === 'thinking' && part.opaque ? { ...part, opaque: { ...part.opaque, origin: 'there' } } : part,
  );
  expect(JSON.stringify(sentBack(...parts))).not.toContain('extra_content');
});

describe('an id that carries the members of its call', () => {
  const answer = (): Members => {
    const message = { role: 'assistant', content: null, tool_calls: [call('a', 'Rome', signed('S'))] };
    const plain = through(M, questions[M]).plain(() =>
      Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
    );
    if (plain.type !== 'answered') throw plain.error;
    return recordOf(JSON.parse(String(plain.body)));
  };
  const sentTo = (upstream: (typeof talkative)[number], request: Members): string =>
    String(translateThrough(M, upstream, Buffer.from(JSON.stringify(request))).sent[0]);

  test('is the only carrier: there is no block of thinking beside it', () => {
    expect(answer().content).toEqual([
      {
        type: 'tool_use',
        id: expect.stringMatching(/^a_penstock1_[\w-]+$/),
        name: 'look',
        input: { city: 'Rome' },
      },
    ]);
  });

  test.each([C, R, M])('is the plain id at %s', (upstream) => {
    const body = sentTo(upstream, echo(M, answer()));
    expect(body.split('"a"')).toHaveLength(3);
    expect(body).not.toContain('penstock');
  });

  test('carries nothing to another provider, and does no harm after a client has cut it', () => {
    const [made] = recordsOf(answer().content);
    const foreign = { ...made, id: String(made?.id).replace(/1_[0-9a-f]+_/, '1_00ff_') };
    const cut = { ...made, id: String(made?.id).slice(0, -3) };
    for (const block of [foreign, cut]) {
      const body = sentTo(C, echo(M, { content: [block] }));
      expect(body).not.toContain('extra_content');
      expect(body.split('"a"')).toHaveLength(3);
    }
  });
});
