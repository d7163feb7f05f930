// Do the forms that chat clients have for thinking reach upstreams of other dialects? Anthropic's endpoint takes `thinking` in a
// chat call, OpenRouter takes `reasoning`; both can be said at Messages and Responses.

import { describe, expect, test } from 'vitest';
import { C, M, open, R, sent } from '../pitfalls/whole-way.ts';
import type { Members } from '../support/askings.ts';

const atMessages = (more: Members, upstreamModel = 'claude-opus-4-8'): Members => {
  const { thinking, output_config } = sent(C, M, { max_tokens: 9000, ...more }, { upstreamModel });
  return { thinking, output_config };
};

describe('at Messages', () => {
  test.each<[Members, Members]>([
    [
      { reasoning: { effort: 'high' } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    [{ reasoning: { effort: 'none' } }, { thinking: { type: 'disabled' } }],
    [{ reasoning: { enabled: false } }, { thinking: { type: 'disabled' } }],
    [{ reasoning: { enabled: true } }, { thinking: { type: 'adaptive' } }],
    [
      { reasoning: { max_tokens: 3000 } },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } },
    ],
    [{ reasoning: { effort: 'low', summary: 'auto' } }, { thinking: { display: 'summarized' } }],
    [{ thinking: { type: 'adaptive' } }, { thinking: { type: 'adaptive' } }],
    [{ thinking: { type: 'disabled' } }, { thinking: { type: 'disabled' } }],
    [{ thinking: { type: 'enabled', budget_tokens: 3000 } }, { output_config: { effort: 'medium' } }],
    [{ thinking: { type: 'enabled' } }, { thinking: { type: 'adaptive' } }],
    [
      { reasoning_effort: 'low', reasoning: { effort: 'high' }, thinking: { type: 'disabled' } },
      { output_config: { effort: 'low' } },
    ],
  ])('%j is %j', (asked, wanted) => {
    expect(open(C, M, { max_tokens: 9000, ...asked }).dropped).not.toContain(Object.keys(asked)[0]);
    expect(atMessages(asked)).toMatchObject(wanted);
  });

  test('a budget stays a budget where the model has one', () => {
    const thinking = { type: 'enabled', budget_tokens: 3000 };
    expect(atMessages({ thinking }, 'claude-sonnet-4-5')).toMatchObject({ thinking });
    expect(atMessages({ reasoning: { max_tokens: 3000 } }, 'claude-sonnet-4-5')).toMatchObject({ thinking });
  });
});

test.each<[Members, unknown]>([
  [{ reasoning: { effort: 'high' } }, { effort: 'high' }],
  [{ reasoning: { effort: 'low', summary: 'concise' } }, { effort: 'low', summary: 'concise' }],
  [{ thinking: { type: 'enabled', budget_tokens: 3000 } }, { effort: 'medium' }],
  [{ thinking: { type: 'disabled' } }, { effort: 'none' }],
])('at Responses %j is %j', (asked, wanted) => {
  expect(open(C, R, asked).dropped).toEqual([]);
  expect(sent(C, R, asked).reasoning).toEqual(wanted);
});

test.each([
  { thinking: { type: 'auto' } },
  { thinking: 'much' },
  { reasoning: { exclude: true } },
  { reasoning: 3 },
])('unknown values are reported as left out: %j', (asked) => {
  expect(open(C, M, asked).dropped).toEqual(Object.keys(asked));
});
