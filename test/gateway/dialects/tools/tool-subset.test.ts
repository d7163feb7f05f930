// Do a hundred thousand tools, all of them allowed by name, take as long as they are many?

import { expect, test } from 'vitest';
import { traitsOf } from '../../../../gateway/dialects/anthropic/model-traits.ts';
import { encodeTools } from '../../../../gateway/dialects/anthropic-messages/encode-tools.ts';
import type { Tool } from '../../../../gateway/dialects/conversation.ts';
import { decodeTools } from '../../../../gateway/dialects/openai-chat/decode-tools.ts';
import { decodeToolChoice } from '../../../../gateway/dialects/openai-responses/decode-tools.ts';
import { encodeResponsesRequest } from '../../../../gateway/dialects/openai-responses/encode-request.ts';
import { nameTools } from '../../../../gateway/dialects/tools/tool-names.ts';
import { startCpuTimer } from '../../../support/cpu-timer.ts';
import { conversationOf } from '../support/make-conversation.ts';

const tools = Array.from({ length: 100_000 }, (_, n): Tool => ({ kind: 'function', name: `tool_${n}` }));
// In the worst order for a search from the front.
const allowed = tools.toReversed().map(({ name }) => ({ name }));
const note = () => {};

const conversation = conversationOf({ tools, toolChoice: { type: 'subset', mode: 'auto', tools: allowed } });
const names = nameTools(conversation, { lengthMax: 128, hasNamespaces: false, hasCustom: false });
const target = { upstreamModel: 'm', isStream: false, parameters: {}, origin: 'here' };

const steps: readonly (readonly [step: string, take: () => unknown])[] = [
  [
    'read from chat',
    () => {
      const wrapped = (one: { readonly name: string }) => ({ type: 'function', function: one });
      const choice = {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: allowed.map(wrapped) },
      };
      const rest = { parallel: undefined, functions: undefined, functionCall: undefined };
      return decodeTools({ tools: tools.map(wrapped), toolChoice: choice, ...rest }, note).toolChoice;
    },
  ],
  [
    'read from responses',
    () => {
      const named = allowed.map(({ name }) => ({ type: 'function', name }));
      const choice = { type: 'allowed_tools', mode: 'auto', tools: named };
      return decodeToolChoice(
        choice,
        { tools, clientTools: new Set(), hasWebSearch: false, hasHosted: false },
        note,
      );
    },
  ],
  ['written for messages', () => encodeTools(conversation, names, undefined, traitsOf('up'))],
  [
    'written for responses',
    () => JSON.parse(encodeResponsesRequest(conversation, target, names).toString()).tool_choice,
  ],
];

test.each(steps)('%s', (_, take) => {
  const workedMs = startCpuTimer();
  expect(take()).toMatchObject({ tools: { length: tools.length } });
  // Dozens of times what it takes, and less than to look at all of them for each.
  expect(workedMs()).toBeLessThan(10_000);
});
