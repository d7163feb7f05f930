// The schema of a caller, held to what the upstream can take.

import { expect, test } from 'vitest';
import { encodeOutputSchema } from '../../../../gateway/dialects/anthropic-messages/output-schema.ts';

test.each(['__proto__', 'constructor'])('T14: a member called %s stays a member, with its value', (name) => {
  const schema = `{"type":"object","properties":{"${name}":{"type":"string"}},"${name}":{"type":"null"}}`;
  expect(JSON.stringify(encodeOutputSchema(JSON.parse(schema)))).toBe(
    schema.replace(/\}$/, ',"additionalProperties":false}'),
  );
});
