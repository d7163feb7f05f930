// Are single members of a body changed with every other byte left as it was, wherever the body was cut?

import { expect, test } from 'vitest';
import { withBodyMembers } from '../../../gateway/upstream/body.ts';

const written = '{"model": "m" ,"max_tokens":1e2,"messages":[{"content":"ü"}]}';

function changed(text: string, pieceBytes: number): string {
  const whole = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < whole.length; at += pieceBytes) chunks.push(whole.subarray(at, at + pieceBytes));
  return Buffer.concat(withBodyMembers(chunks, ['model'], { anthropic_version: 'v1' })).toString();
}

test('members are removed and added, and numbers keep their spelling', () => {
  const wanted = '{"max_tokens":1e2,"messages":[{"content":"ü"}],"anthropic_version":"v1"}';
  for (let pieceBytes = 1; pieceBytes <= written.length + 1; pieceBytes++) {
    expect(changed(written, pieceBytes)).toBe(wanted);
  }
});

test.each([
  ['the first of two', '{"model":"m","a":1}', '{"a":1,"anthropic_version":"v1"}'],
  ['the last of two', '{"a":1,"model":"m"}', '{"a":1,"anthropic_version":"v1"}'],
  ['not there', '{"a":1}', '{"a":1,"anthropic_version":"v1"}'],
  ['beside a value that is replaced', '{"anthropic_version":"v0","model":"m"}', '{"anthropic_version":"v1"}'],
])('a member that is %s leaves valid JSON', (_, text, wanted) => {
  expect(changed(text, text.length)).toBe(wanted);
});
