// Which requests do more than answer, so that they must not be sent again where the first may have been acted on?

import { expect, test } from 'vitest';
import type { DialectName } from '../../../core/contract/routing-table.ts';
import { findDialect } from '../../../gateway/dialects/registry.ts';
import { RequestBody } from '../../../gateway/json/request-body.ts';

const longTools = Array.from({ length: 200 }, (_, n) => ({
  type: 'function',
  name: `tool_${n}`,
  description: 'what it does, in many words. '.repeat(5),
}));

const rows: readonly (readonly [DialectName, object, boolean])[] = [
  ['openai-responses', {}, false],
  ['openai-responses', { store: false, background: false, previous_response_id: null }, false],
  ['openai-responses', { store: true }, true],
  ['openai-responses', { background: true }, true],
  ['openai-responses', { previous_response_id: 'resp_1' }, true],
  ['openai-responses', { conversation: { id: 'conv_1' } }, true],
  [
    'openai-responses',
    {
      tools: [
        { type: 'function', name: 'f' },
        { type: 'custom', name: 'c' },
      ],
    },
    false,
  ],
  ['openai-responses', { tools: [{ type: 'local_shell' }, { type: 'apply_patch' }] }, false],
  ['openai-responses', { tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }] }, true],
  ['openai-responses', { tools: [{ type: 'code_interpreter' }] }, true],
  ['openai-responses', { tools: [{ type: 'mcp', server_url: 'https://mcp.test' }] }, true],
  ['openai-responses', { tools: longTools }, false],
  ['openai-responses', { tools: [...longTools, { type: 'image_generation' }] }, true],
  ['openai-chat', { tools: [{ type: 'function', function: { name: 'web_search' } }] }, false],
  ['openai-chat', { store: true }, true],
  ['openai-chat', { web_search_options: {} }, true],
  ['anthropic-messages', { tools: [{ name: 'f', input_schema: {} }, { type: 'bash_20250124' }] }, false],
  ['anthropic-messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, true],
  ['anthropic-messages', { tools: [{ type: 'code_execution_20250522' }] }, true],
  ['anthropic-messages', { mcp_servers: [{ type: 'url' }] }, true],
  ['anthropic-messages', { container: 'container_1' }, true],
  ['openai-completions', { prompt: 'store' }, false],
];

test.each(rows)('%s %o: %s', (dialect, body, expected) => {
  // Small bodies are parsed whole, large ones are not.
  for (const isParsed of [true, false]) {
    const read = new RequestBody([Buffer.from(JSON.stringify(body))]);
    if (isParsed) read.parse();
    expect(findDialect(dialect).hasSideEffects(read)).toBe(expected);
  }
});
