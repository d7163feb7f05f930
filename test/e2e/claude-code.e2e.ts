// Does the real Claude Code work through the gateway, whatever the model's own dialect is? With a tool call and a
// follow-up, in a network that is loopback only. What it sends is kept for `npm test`: run with `-u` to keep it again.

import { describe, expect, test } from 'vitest';
import { cloudUpstreams } from '../conformance/cloud-fronts.ts';
import { ableUpstreams } from '../conformance/every-upstream.ts';
import { claudeCode } from './clients/packages.ts';
import { fixturesOf, runErrand } from './clients/run-errand.ts';

const fixtures = '../fixtures/clients/claude-code';

describe.each([...ableUpstreams, ...cloudUpstreams])('on %s', (upstream) => {
  test('a turn with a tool call and a follow-up works', async () => {
    const facts = await runErrand('claude-code', claudeCode, upstream);
    expect(facts, facts.stdout + facts.stderr).toMatchObject({ exitCode: 0, marker: 'the tool ran\n' });
    expect(facts.requests.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['POST', '/v1/messages?beta=true', 200],
      ['POST', '/v1/messages?beta=true', 200],
    ]);
    expect(facts.upstreamCalls.map(({ ending }) => ending)).toEqual(['complete', 'complete']);
    expect(lastLine(facts.stdout)).toMatchObject({
      type: 'result',
      is_error: false,
      num_turns: 2,
      result: expect.stringMatching(/^This is the simulator.*the tool ran/),
    });
    expect(facts.namesLookedUp).toEqual([]);
    if (upstream !== 'messages') return;
    const [first, second] = fixturesOf('claude-code', claudeCode, facts);
    await expect(inJson(first)).toMatchFileSnapshot(`${fixtures}/first-turn.json`);
    await expect(inJson(second)).toMatchFileSnapshot(`${fixtures}/tool-result.json`);
  });
});

test('a model that has no tools is refused with the reason', async () => {
  const facts = await runErrand('claude-code', claudeCode, 'completions');
  expect(facts.exitCode).toBe(1);
  expect(lastLine(facts.stdout)).toMatchObject({
    is_error: true,
    api_error_status: 400,
    result: expect.stringContaining('cannot be carried to this model'),
  });
  // It asks again with less and less, as it does wherever it meets a 400 whose words it does not know.
  expect(new Set(facts.requests.map(({ status }) => status))).toEqual(new Set([400]));
  expect([facts.upstreamCalls, facts.namesLookedUp, facts.marker]).toEqual([[], [], null]);
});

function lastLine(text: string): unknown {
  return JSON.parse(text.trim().split('\n').at(-1) ?? '');
}

function inJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
