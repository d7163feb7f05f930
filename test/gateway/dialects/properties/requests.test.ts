// What must hold of every request: what we send in a dialect, a strict provider of it takes, and our
// own reader reads back what the table says is kept; and nothing a client sends makes us fail.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { features } from '../../../../core/catalog/capabilities.ts';
import type { Conversation, Part } from '../../../../gateway/dialects/conversation.ts';
import { findDialect } from '../../../../gateway/dialects/registry.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { JsonStructureError } from '../../../../gateway/json/scan-members.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { chat } from '../../../../simulator/chat.ts';
import { parseDirectives } from '../../../../simulator/directives.ts';
import { messages } from '../../../../simulator/messages.ts';
import { responses } from '../../../../simulator/responses.ts';
import { makeSeal } from '../../../../simulator/seal.ts';
import { storeResponses } from '../../../../simulator/stored-responses.ts';
import { runs } from '../../../support/runs.ts';
import { someConversation } from './arbitrary.ts';
import { canCarry, target, translateOwn } from './both-sides.ts';

const strict = { 'openai-chat': chat, 'openai-responses': responses, 'anthropic-messages': messages };
const chatLike = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
const all = [...chatLike, 'openai-completions'] as const;

/** As a provider that refuses what it does not know would read it. */
function readStrictly(name: (typeof chatLike)[number], body: Buffer): void {
  strict[name].read(JSON.parse(body.toString('utf8')), {
    model: 'some-model',
    headers: { 'anthropic-version': '2023-06-01' },
    directives: parseDirectives('strict'),
    seal: makeSeal('key'),
    stored: storeResponses(1),
    isCounting: false,
  });
}

describe.each(chatLike)('%s', (name) => {
  const dialect = findDialect(name);

  test('a strict provider accepts every request of the gateway', () => {
    fc.assert(
      fc.property(someConversation, (conversation) => {
        readStrictly(name, openCall(dialect, conversation, target).body);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('every feature that the table keeps is read back', () => {
    fc.assert(
      fc.property(someConversation, (conversation) => {
        const [back] = translateOwn(dialect, openCall(dialect, conversation, target).body).conversations;
        if (!back) throw new Error('nothing came back');
        const isSubset = conversation.toolChoice?.type === 'subset';
        expect(kept(back, isSubset)).toEqual(kept(conversation, isSubset));
      }),
      { numRuns: runs(500) },
    );
  });
});

/** What every dialect but text completions keeps, written in one way. */
function kept(
  { system, turns, tools, toolChoice, mayCallInParallel, output }: Conversation,
  isSubset: boolean,
): unknown {
  return {
    system: system.map(textOf).join('').replace(/\s/g, ''),
    turns: turns
      .flatMap(({ role, parts }) => parts.map((part) => [role, textOf(part)] as const))
      .reduce(joined, ''),
    // A subset of the tools may be all that is offered.
    tools: isSubset ? [] : tools.map((tool) => tool.name),
    choice: isSubset || toolChoice?.type === 'auto' ? undefined : toolChoice?.type,
    mayCallInParallel,
    output: output.type,
  };
}

/** Where one turn ends and the next begins is not always kept; what is said, and by whom, is. */
function joined(text: string, [role, said]: readonly [role: string, said: string]): string {
  const isSameRole = text.slice(text.lastIndexOf('|') + 1).startsWith(`${role}:`);
  return `${text}${isSameRole ? '' : `|${role}:`}${said.replace(/[\s|]/g, '')}`;
}

function textOf(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'thinking':
      return part.text;
    case 'tool-call':
      // Free text is wrapped where there is no place for it.
      return `calls ${part.name} ${part.id} ${part.name === 'apply_patch' ? '' : JSON.stringify(JSON.parse(part.input))}`;
    case 'tool-result':
      return `has ${part.id}: ${part.parts.map(textOf).join('')}`;
    default:
      return part.type;
  }
}

describe('any request of a client', () => {
  const member = fc.constantFrom(
    'role',
    'content',
    'type',
    'text',
    'image_url',
    'source',
    'tool_calls',
    'function',
    'name',
    'arguments',
    'input',
    'id',
    'tool_use_id',
    'call_id',
    'output',
    'tools',
    'format',
    'schema',
    'thinking',
    'signature',
    'encrypted_content',
    'summary',
    'url',
    'data',
    'effort',
    'mode',
    'budget_tokens',
  );
  const word = fc.constantFrom<unknown>(
    null,
    0,
    1,
    'user',
    'assistant',
    'system',
    'tool',
    'developer',
    'text',
    'image',
    'input_text',
    'output_text',
    'image_url',
    'tool_use',
    'tool_result',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'reasoning',
    'thinking',
    'function',
    'custom',
    'namespace',
    'json_schema',
    'auto',
    'any',
    '',
    'data:image/png;base64,AA==',
    'https://h/x',
    '{}',
    '{',
    true,
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      word,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(member, tie('value'), { maxKeys: 5 }),
    ),
  }));
  const top = fc.constantFrom(
    'messages',
    'input',
    'system',
    'instructions',
    'tools',
    'tool_choice',
    'response_format',
    'text',
    'reasoning',
    'reasoning_effort',
    'thinking',
    'output_config',
    'stop',
    'stop_sequences',
    'temperature',
    'n',
    'prompt',
    'logprobs',
    'metadata',
    'user',
    'include',
    'previous_response_id',
    'functions',
    'function_call',
    'audio',
    'modalities',
    'max_tokens',
    'store',
    'no_such_member',
  );

  test.each(all)('is served or refused by name by the %s reader, which never throws', (name) => {
    const dialect = findDialect(name);
    let taken = 0;
    fc.assert(
      fc.property(fc.dictionary(top, value, { maxKeys: 6 }), (members) => {
        const base = {
          model: 'm',
          max_tokens: 100,
          messages: [{ role: 'user', content: 'x' }],
          input: 'x',
          prompt: 'x',
        };
        const required =
          name === 'openai-completions'
            ? ['prompt']
            : name === 'openai-responses'
              ? ['input']
              : ['messages', 'max_tokens'];
        const own = Object.fromEntries(
          Object.entries(base).filter(([key]) => key === 'model' || required.includes(key)),
        );
        const body = Buffer.from(JSON.stringify({ ...own, ...members }));
        try {
          const { conversations } = translateOwn(dialect, body);
          for (const conversation of conversations) {
            for (const { feature } of conversation.asks) expect(features).toContain(feature);
            for (const upstream of all.map(findDialect)) {
              if (!canCarry(dialect, upstream, conversation)) continue;
              taken++;
              JSON.parse(openCall(upstream, conversation, target).body.toString('utf8'));
            }
          }
        } catch (error) {
          if (error instanceof JsonStructureError) return;
          if (!(error instanceof GatewayError)) throw error;
          expect([error.status, error.code]).toEqual([
            400,
            expect.stringMatching(/^(invalid|unsupported)_parameter$/),
          ]);
          expect(error.param).toBeTruthy();
        }
      }),
      { numRuns: runs(1500) },
    );
    expect(taken).toBeGreaterThan(100);
  });
});
