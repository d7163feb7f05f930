// What becomes of thinking: what was thought before, and how much shall be?

import { describe, expect, test } from 'vitest';
import type { DialectName } from '../../../../core/contract/routing-table.ts';
import { packOpaque } from '../../../../gateway/dialects/state/opaque.ts';
import { rebuildAnswer } from '../../../support/rebuild-answer.ts';
import { translateThrough } from '../../../support/translate-through.ts';
import { recordOf, recordsOf } from '../../endpoints/ask.ts';
import type { Members } from '../support/askings.ts';
import { tell } from '../support/tellings.ts';
import { C, call, M, R, sent, streamed, translated } from './whole-way.ts';

describe('earlier thinking', () => {
  const turn = (...blocks: readonly Members[]) => ({
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: [...blocks, { type: 'tool_use', id: 'call_1', name: 'look', input: {} }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] },
    ],
  });
  const items = (...before: readonly Members[]) => ({
    input: [
      { role: 'user', content: 'hi' },
      ...before,
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'x' },
    ],
  });
  const elsewhere = packOpaque('another provider', { kind: 'signature', value: 'sig' });

  test.each<[string, DialectName, Members]>([
    ['an empty signature', M, turn({ type: 'thinking', thinking: 'hm', signature: '' })],
    [
      'a signature that we packed for another',
      M,
      turn({ type: 'thinking', thinking: 'hm', signature: elsewhere }),
    ],
    ['redacted data that we packed for another', M, turn({ type: 'redacted_thinking', data: elsewhere })],
    [
      'reasoning_content',
      C,
      {
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: null,
            reasoning_content: 'hm',
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: 'x' },
        ],
      },
    ],
    [
      'a summary without state',
      R,
      items({ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] }),
    ],
    [
      'the state of a responses provider',
      R,
      items({
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: 'gAAAA',
      }),
    ],
    [
      'state that we packed for another',
      R,
      items({
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: elsewhere,
      }),
    ],
  ])('45: thinking with %s is not sent to a messages upstream', (_, client, more) => {
    const body = JSON.stringify(sent(client, M, more));
    expect(body).not.toContain('thinking');
    expect(body).not.toContain('hm');
    expect(body).toContain('"tool_use"');
  });

  test('46: native thinking goes to a messages upstream byte for byte', () => {
    const blocks =
      '{"type" : "thinking", "thinking":"  \\u00fc h\\tm \\u2028 ", "signature":"Eq+/=="} , {"type":"redacted_thinking","data":"AB\\/C"}';
    const text = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[${blocks}]},{"role":"user","content":"b"}]}`;
    expect(String(translateThrough(M, M, Buffer.from(text)).sent[0])).toContain(`[${blocks}]`);
  });

  test.each([C, R] as const)('46: and comes home byte for byte through a client of %s', (client) => {
    const signature = 'Eq+/==sig';
    const reported = tell(M, [['thinking', '  h\tm '], call()], 'calls').replaceAll(
      '"sig"',
      JSON.stringify(signature),
    );
    const answer = recordOf(rebuildAnswer(client, streamed(client, M, reported)));
    const message = recordOf(recordsOf(answer.choices ?? [{}])[0]?.message ?? {});
    const history =
      client === C
        ? {
            messages: [
              { role: 'user', content: 'hi' },
              message,
              { role: 'tool', tool_call_id: 'call_1', content: 'x' },
            ],
          }
        : {
            input: [
              { role: 'user', content: 'hi' },
              ...recordsOf(answer.output ?? []),
              { type: 'function_call_output', call_id: 'call_1', output: 'x' },
            ],
          };
    const [, assistant] = recordsOf(sent(client, M, history).messages);
    expect(recordsOf(assistant?.content)[0]).toEqual({ type: 'thinking', thinking: '  h\tm ', signature });
  });

  test.each<[string, DialectName, Members]>([
    ['a thinking block', M, turn({ type: 'thinking', thinking: 'hm', signature: '' })],
    [
      'a reasoning item',
      R,
      items({ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] }),
    ],
  ])('49: %s of a turn with calls goes back to a chat upstream as reasoning_content', (_, client, more) => {
    const [, assistant] = recordsOf(sent(client, C, more).messages);
    expect(assistant).toMatchObject({ reasoning_content: 'hm', tool_calls: [{ id: 'call_1' }] });
  });
});

describe('how much is thought', () => {
  const efforts = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
  const budgeted = { upstreamModel: 'claude-sonnet-4-5' };

  test.each(
    efforts.flatMap((effort) => [1025, 2000, 4096, 100_000, undefined].map((limit) => ({ effort, limit }))),
  )('50: the budget for $effort stays below a limit of $limit', ({ effort, limit }) => {
    for (const body of [
      sent(C, M, { reasoning_effort: effort, max_completion_tokens: limit }, budgeted),
      sent(R, M, { reasoning: { effort }, max_output_tokens: limit }, budgeted),
    ]) {
      const { budget_tokens, type } = recordOf(body.thinking);
      expect(type).toBe('enabled');
      expect(budget_tokens).toBeGreaterThanOrEqual(1024);
      expect(budget_tokens).toBeLessThan(Number(body.max_tokens));
      if (limit !== undefined) expect(body.max_tokens).toBe(limit);
    }
  });

  const asked = {
    [C]: (effort: string) => ({ reasoning_effort: effort }),
    [R]: (effort: string) => ({ reasoning: { effort } }),
    [M]: (effort: string) => ({ thinking: { type: 'adaptive' }, output_config: { effort } }),
  };
  const found = {
    [C]: ({ reasoning_effort }: Members) => reasoning_effort,
    [R]: ({ reasoning }: Members) => recordOf(reasoning).effort,
    [M]: ({ output_config }: Members) => recordOf(output_config).effort,
  };

  test.each(
    translated.flatMap(([client, upstream]) =>
      ['low', 'medium', 'high', 'xhigh', 'max'].map((effort) => ({ client, upstream, effort })),
    ),
  )('51: the effort $effort of $client is the same at $upstream', ({ client, upstream, effort }) => {
    const body = sent(client, upstream, asked[client](effort), { upstreamModel: 'claude-opus-5' });
    expect(found[upstream](body)).toBe(effort);
  });

  const shape = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };
  const formats = {
    [C]: {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: shape, strict: true } },
    },
    [R]: { text: { format: { type: 'json_schema', name: 'answer', schema: shape, strict: true } } },
    [M]: { output_config: { format: { type: 'json_schema', schema: shape } } },
  };

  test.each(translated)('52: the schema that %s asks for is asked of %s', (client, upstream) => {
    const body = sent(client, upstream, formats[client], { upstreamModel: 'claude-opus-5' });
    const schemaAt = {
      [C]: () => recordOf(recordOf(body.response_format).json_schema),
      [R]: () => recordOf(recordOf(body.text).format),
      [M]: () => recordOf(recordOf(body.output_config).format),
    }[upstream]();
    expect(schemaAt.schema).toEqual(shape);
    // Both OpenAI dialects insist on a name.
    if (upstream !== M) expect(schemaAt.name).toMatch(/^[a-zA-Z0-9_-]+$/);
  });
});
