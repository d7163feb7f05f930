// Where does system text go?

import { describe, expect, test } from 'vitest';
import { recordsOf } from '../../endpoints/ask.ts';
import { C, M, R, sent } from './whole-way.ts';

describe('system text', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const later = {
    messages: [
      { role: 'user', content: 'one' },
      { role: 'system', content: [{ type: 'text', text: 'two', ...mark }] },
      { role: 'assistant', content: 'three' },
      { role: 'user', content: 'four' },
      { role: 'system', content: 'five' },
    ],
  };

  test('27: of the role system in messages keeps its place on the way to chat', () => {
    expect(sent(M, C, later).messages).toEqual([
      { role: 'user', content: 'one' },
      { role: 'system', content: 'two' },
      { role: 'assistant', content: 'three' },
      { role: 'user', content: 'four' },
      { role: 'system', content: 'five' },
    ]);
  });

  test('27, 29: and on the way to responses, where it is of the role developer', () => {
    const input = recordsOf(sent(M, R, later).input);
    expect(
      input.map(({ role, content }) => [role, JSON.stringify(content).match(/one|two|three|four|five/)?.[0]]),
    ).toEqual([
      ['user', 'one'],
      ['developer', 'two'],
      ['assistant', 'three'],
      ['user', 'four'],
      ['developer', 'five'],
    ]);
  });

  test('27: and to messages byte for byte, with its cache marks', () => {
    expect(sent(M, M, later).messages).toEqual(later.messages);
  });

  test('27: a chat client’s keeps place and cache mark where the model takes system messages', () => {
    const { messages } = sent(C, M, later, { upstreamModel: 'claude-opus-4-8' });
    expect(recordsOf(messages)[1]).toEqual({
      role: 'system',
      content: [{ type: 'text', text: 'two', ...mark }],
    });
  });

  test('29: a chat client’s later system text is of the role developer at a responses upstream', () => {
    expect(JSON.stringify(sent(C, R, later).input)).not.toContain('"system"');
  });

  test('28: developer items in front go to the member system, each a block, and never to messages[0]', () => {
    const input = ['one', 'two'].map((text) => ({
      type: 'message',
      role: 'developer',
      content: [{ type: 'input_text', text }],
    }));
    const { system, messages } = sent(R, M, {
      instructions: 'zero',
      input: [...input, { role: 'user', content: 'hi' }],
    });
    expect(recordsOf(system).map(({ text }) => text)).toEqual(['zero', 'one', 'two']);
    expect(recordsOf(messages).map(({ role }) => role)).toEqual(['user']);
  });
});
