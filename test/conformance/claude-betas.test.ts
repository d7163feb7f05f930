// Does a client that speaks to Anthropic reach Claude at a cloud, whatever betas it names? Fronts that refuse what they do not know are asked
// through the gateway with what Claude Code was seen to send, and with betas of later and of other clients.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testKey } from '../gateway/rig.ts';
import { type EveryUpstream, startEveryUpstream } from './every-upstream.ts';

let stage: EveryUpstream;
let ofClaudeCode: string;

beforeAll(async () => {
  stage = await startEveryUpstream();
  const recorded = new URL('../fixtures/clients/claude-code/first-turn.json', import.meta.url);
  ofClaudeCode = JSON.parse(await readFile(recorded, 'utf8')).headers['anthropic-beta'];
});
afterAll(() => stage.close());

const ofOthers = [
  ...['oauth-2025-04-20', 'advanced-tool-use-2025-11-20', 'prompt-caching-scope-2026-01-05'],
  ...['fine-grained-tool-streaming-2025-05-14', 'structured-outputs-2025-11-13', 'dreams-2027-01-01'],
].join(',');

const taken = {
  'azure-claude': [
    'interleaved-thinking-2025-05-14,context-management-2025-06-27,effort-2025-11-24,thinking-display-updates-2026-08-18',
    'advanced-tool-use-2025-11-20,prompt-caching-scope-2026-01-05,structured-outputs-2025-11-13',
  ],
  'bedrock-claude': [
    'interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,effort-2025-11-24,thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19,fine-grained-tool-streaming-2025-05-14',
  ],
  'vertex-claude': [
    'interleaved-thinking-2025-05-14,context-management-2025-06-27,mid-conversation-tool-changes-2026-07-01,thinking-display-updates-2026-08-18',
    'tool-search-tool-2025-10-19',
  ],
} as const;

type Cloud = keyof typeof taken;

function ask(cloud: Cloud, beta: string, isStream: boolean): Promise<Response> {
  return fetch(`${stage.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'anthropic-beta': beta },
    body: JSON.stringify({
      model: stage.model(cloud),
      max_tokens: 64,
      stream: isStream,
      messages: [{ role: 'user', content: 'three plain words' }],
    }),
  });
}

describe.each(Object.keys(taken) as Cloud[])('cloud 31: %s', (cloud) => {
  test.each([false, true])('takes the betas that are sent to it, as a stream: %s', async (isStream) => {
    for (const [at, beta] of [ofClaudeCode, ofOthers].entries()) {
      const answer = await ask(cloud, beta, isStream);
      expect([answer.status, await answer.text()]).toEqual([
        200,
        expect.stringContaining('"stop_reason":"end_turn"'),
      ]);
      expect(stage.newCalls(cloud).map(({ headers }) => headers['anthropic-beta'])).toEqual([
        taken[cloud][at],
      ]);
    }
  });

  test('is asked without the header if it takes no beta of it', async () => {
    const answer = await ask(cloud, 'oauth-2025-04-20,dreams-2027-01-01', false);
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('"stop_reason":"end_turn"'),
    ]);
    expect(stage.newCalls(cloud).map(({ headers }) => 'anthropic-beta' in headers)).toEqual([false]);
  });
});
