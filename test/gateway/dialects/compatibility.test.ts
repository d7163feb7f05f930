// What is refused, and what is asked to be dropped?

import { expect, test } from 'vitest';
import {
  droppedHeader,
  findImpossible,
  impossible,
  listDropped,
} from '../../../gateway/dialects/compatibility.ts';
import type { Conversation } from '../../../gateway/dialects/conversation.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { target } from './properties/both-sides.ts';
import { conversationOf } from './support/make-conversation.ts';

const chat = findDialect('openai-chat');
const asks = [
  { feature: 'image', param: 'messages[0].content[1]' },
  { feature: 'seed', param: 'seed' },
  { feature: 'penalties', param: 'presence_penalty' },
  { feature: 'image-detail', param: 'messages[0].content[1].image_url.detail' },
] as const;
const conversation = conversationOf({ asks, maxOutputTokens: 900 });

test('the first thing that cannot be carried is refused by the name the caller gave it', () => {
  const ask = findImpossible('openai-chat', 'openai-completions', conversation);
  expect(ask).toEqual(asks[0]);
  const error = impossible(asks[0], 'openai-completions');
  expect([error.status, error.code, error.param]).toEqual([
    400,
    'unsupported_parameter',
    'messages[0].content[1]',
  ]);
  expect(error.message).toContain("'messages[0].content[1]'");
  expect(findImpossible('openai-chat', 'anthropic-messages', conversation)).toBeUndefined();
});

test('a URL is refused where the provider takes base64 alone in messages, also of a client of messages', () => {
  const byUrl = [
    { feature: 'image', param: 'messages[0].content[1]' },
    { feature: 'image-url', param: 'messages[0].content[1].image_url.url' },
    { feature: 'file-url', param: 'messages[0].content[2]' },
  ] as const;
  const asking = conversationOf({ asks: byUrl });
  const base64Only = { messagesSources: 'base64' } as const;
  for (const client of ['openai-chat', 'openai-responses', 'anthropic-messages'] as const) {
    expect(findImpossible(client, 'anthropic-messages', asking, base64Only)).toEqual(byUrl[1]);
    expect(findImpossible(client, 'anthropic-messages', asking, {})).toBeUndefined();
  }
  // Other dialects of the same provider have rules of their own.
  const image = conversationOf({ asks: byUrl.slice(0, 2) });
  expect(findImpossible('anthropic-messages', 'openai-chat', image, base64Only)).toBeUndefined();
  expect(findImpossible('openai-chat', 'anthropic-messages', conversation, base64Only)).toBeUndefined();
});

test.each(['anthropic-messages', 'bedrock-converse'] as const)(
  'the refusal of a URL says that base64 is taken: %s',
  (upstream) => {
    const said = (feature: 'image-url' | 'file-url') => impossible({ feature, param: 'p' }, upstream);
    expect([said('image-url').status, said('image-url').code]).toEqual([400, 'unsupported_parameter']);
    expect([said('image-url').message, said('file-url').message]).toEqual([
      "'p' cannot be carried to this model: its upstream takes no images by URL. Send it as base64, or use another model.",
      "'p' cannot be carried to this model: its upstream takes no files by URL. Send it as base64, or use another model.",
    ]);
  },
);

test('a lost field that may change the answer is reported, a hint is not', () => {
  const reported = (upstream: 'anthropic-messages' | 'openai-completions') =>
    listDropped('openai-chat', findDialect(upstream), [conversation, conversation], target);
  expect(reported('anthropic-messages')).toEqual(['presence_penalty', 'seed']);
  expect(reported('openai-completions')).toEqual([]);
});

test('61: a limit above the model’s maximum is reported', () => {
  const asking = conversationOf({
    asks: [{ feature: 'max-tokens', param: 'max_tokens' }],
    maxOutputTokens: 900,
  });
  expect(listDropped('anthropic-messages', chat, [asking], { ...target, maxOutputTokens: 800 })).toEqual([
    'max_tokens',
  ]);
  expect(listDropped('anthropic-messages', chat, [asking], { ...target, maxOutputTokens: 900 })).toEqual([]);
});

test('the header holds only valid characters, and never grows long', () => {
  expect(droppedHeader([])).toBeUndefined();
  expect(droppedHeader(['seed', 'tools[0].type', 'naïve\r\nx: y'])).toBe('seed,tools[0].type,na?ve??x??y');
  const many = droppedHeader(Array.from({ length: 100 }, (_, n) => `${'x'.repeat(200)}${n}`)) ?? '';
  expect(many.length).toBeLessThan(32 * 65 + 4);
  expect(many.endsWith(',...')).toBe(true);
});

test('a prompt that is sent with many seeds is checked once', () => {
  const looked: unknown[] = [];
  const { name, asUpstream } = findDialect('anthropic-messages');
  const lost = ({ sampling }: Conversation): readonly [] => {
    looked.push(sampling.seed);
    return [];
  };
  const asked = Array.from({ length: 128 }, (_, seed) => ({ ...conversation, sampling: { seed } }));
  const other = conversationOf({ asks: [{ feature: 'seed', param: 'other' }] });
  expect(
    listDropped('openai-chat', { name, asUpstream: { ...asUpstream, lost } }, [...asked, other], target),
  ).toEqual(['other', 'presence_penalty', 'seed']);
  expect(looked).toHaveLength(2);
});

test('a parameter that this model does not support is reported, too', () => {
  const asking = conversationOf({ asks: [{ feature: 'temperature', param: 'temperature' }] });
  const reported = (upstreamModel: string) =>
    listDropped('openai-chat', findDialect('anthropic-messages'), [asking], { ...target, upstreamModel });
  expect(reported('claude-opus-4-6')).toEqual([]);
  expect(reported('claude-opus-5')).toEqual(['temperature']);
});
