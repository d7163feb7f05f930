// Can a caller write anything that breaks the gateway? Requests of the right words in the wrong places:
// each is refused by name, or served with a response of the whole shape.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalise } from '../../../../gateway/dialects/normalise.ts';
import { translateResponses } from '../../../../gateway/dialects/openai-responses/translate.ts';
import { responsesUpstream } from '../../../../gateway/dialects/openai-responses/upstream.ts';
import { GatewayError } from '../../../../gateway/request/errors.ts';
import { readResponseEvents } from '../../../support/openapi/responses-sequence.ts';
import { runs } from '../../../support/runs.ts';
import { bodyOf, target } from '../support/upstream-call.ts';
import { head } from './talk.ts';

const words = [
  ...['function', 'custom', 'namespace', 'allowed_tools', 'web_search', 'f', 'auto', 'required', 'none'],
  ...['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference', 'additional_tools'],
  ...['user', 'assistant', 'developer', 'input_text', 'output_text', 'input_image', 'input_file', 'refusal'],
  ...[
    'json_schema',
    'json_object',
    'text',
    'grammar',
    'low',
    'disabled',
    'data:image/png;base64,aGk=',
    '{}',
    '',
  ],
];
const names = [
  ...['type', 'role', 'content', 'text', 'name', 'call_id', 'arguments', 'input', 'output', 'id', 'tools'],
  ...[
    'summary',
    'encrypted_content',
    'image_url',
    'file_data',
    'refusal',
    'format',
    'schema',
    'mode',
    'effort',
  ],
  ...['namespace', 'parameters', 'strict', 'verbosity', 'syntax', 'definition'],
];
const members = [
  ...['instructions', 'max_output_tokens', 'temperature', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['reasoning', 'text', 'include', 'store', 'truncation', 'metadata', 'user', 'service_tier', 'prompt'],
  ...[
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'top_logprobs',
    'max_tool_calls',
    'odd',
  ],
];

const { json, record } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    fc.constantFrom<unknown>(...words, null, true, false, 0, 0.5, 16),
    fc.array(tie('json'), { maxLength: 3 }),
    tie('record'),
  ),
  record: fc.dictionary(fc.constantFrom(...names), tie('json'), { maxKeys: 5 }),
}));

const request = fc
  .tuple(
    fc.oneof(fc.constant('hello'), fc.array(record, { minLength: 1, maxLength: 3 })),
    fc.dictionary(fc.constantFrom(...members), fc.oneof(json, fc.array(record, { maxLength: 2 })), {
      maxKeys: 2,
    }),
  )
  .map(([input, more]) => ({ model: 'm', input, ...more }));

test('every request is refused by name or served', () => {
  let served = 0;
  fc.assert(
    fc.property(request, (asked) => {
      let translation: ReturnType<typeof translateResponses>;
      try {
        translation = translateResponses(bodyOf(asked));
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
        expect(error).toMatchObject({ code: 'invalid_parameter', param: expect.stringMatching(/^[a-z]/) });
        return;
      }
      served++;
      const [conversation] = translation.conversations;
      if (conversation) responsesUpstream.open(normalise(conversation, target), target);
      const encoder = translation.streamEncoder(head);
      readResponseEvents(encoder.open(0).encode([]) + encoder.close());
    }),
    { numRuns: runs(4500) },
  );
  expect(served).toBeGreaterThan(100);
});
