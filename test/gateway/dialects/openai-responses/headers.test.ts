// Which headers of a responses client go on?

import { expect, test } from 'vitest';
import { openAiResponses } from '../../../../gateway/dialects/openai-responses/index.ts';

test.each(['openai-organization', 'openai-project', 'openai-beta'])(
  '%s goes to the own provider only',
  (name) => {
    expect(openAiResponses.forwardsHeader(name, true)).toBe(true);
    expect(openAiResponses.forwardsHeader(name, false)).toBe(false);
  },
);

test.each(['authorization', 'cookie', 'x-codex-turn-metadata'])('%s is not sent on', (name) => {
  expect(openAiResponses.forwardsHeader(name, true)).toBe(false);
});
