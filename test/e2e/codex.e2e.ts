// Does the real Codex CLI work through the gateway, whatever the model's own dialect is? With a tool call and a
// follow-up, in a network that is loopback only. What it sends is kept for `npm test`: run with `-u` to keep it again.

import { describe, expect, test } from 'vitest';
import { cloudUpstreams } from '../conformance/cloud-fronts.ts';
import { ableUpstreams } from '../conformance/every-upstream.ts';
import { codex } from './clients/packages.ts';
import { fixturesOf, runErrand } from './clients/run-errand.ts';

const fixtures = '../fixtures/clients/codex';

describe.each([...ableUpstreams, ...cloudUpstreams])('on %s', (upstream) => {
  test('a turn with a tool call and a follow-up works', async () => {
    const facts = await runErrand('codex', codex, upstream);
    expect(facts, facts.stdout + facts.stderr).toMatchObject({ exitCode: 0, marker: 'the tool ran\n' });
    expect(facts.requests.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['POST', '/v1/responses', 200],
      ['POST', '/v1/responses', 200],
    ]);
    expect(facts.upstreamCalls.map(({ ending }) => ending)).toEqual(['complete', 'complete']);
    expect(facts.stdout).toMatch(/"type":"agent_message","text":"This is the simulator[^\n]*the tool ran/);
    expect(facts.stdout).toContain('"type":"turn.completed"');
    expect(facts.namesLookedUp).toEqual([]);
    if (upstream !== 'responses') return;
    const [first, second] = fixturesOf('codex', codex, facts);
    await expect(inJson(first)).toMatchFileSnapshot(`${fixtures}/first-turn.json`);
    await expect(inJson(second)).toMatchFileSnapshot(`${fixtures}/tool-result.json`);
  });
});

// For these it has other tools than for models it does not know: one that takes a program, reported as an item of the input.
describe.each(ableUpstreams)('with a model that it knows, on %s', (upstream) => {
  test('a turn with a tool call and a follow-up works', async () => {
    const facts = await runErrand('codex', codex, upstream, { knownModel: 'gpt-6.1-sol' });
    expect(facts, facts.stdout + facts.stderr).toMatchObject({ exitCode: 0, marker: 'the tool ran\n' });
    expect(facts.requests.map(({ status }) => status)).toEqual([200, 200]);
    expect(facts.stdout).toMatch(/"type":"agent_message","text":"This is the simulator[^\n]*the tool ran/);
    expect(facts.namesLookedUp).toEqual([]);
    if (upstream !== 'responses') return;
    const [first, second] = fixturesOf('codex', codex, facts);
    await expect(inJson(first)).toMatchFileSnapshot(`${fixtures}/known-model-first-turn.json`);
    await expect(inJson(second)).toMatchFileSnapshot(`${fixtures}/known-model-tool-result.json`);
  });
});

// It reads on behind both events that tell of it; that the body then has no end is what it reports.
describe.each(ableUpstreams)('if the first stream breaks, on %s', (upstream) => {
  test('it is requested again, and the turn works', async () => {
    const facts = await runErrand('codex', codex, upstream, { isBroken: true });
    expect(facts, facts.stdout + facts.stderr).toMatchObject({ exitCode: 0, marker: 'the tool ran\n' });
    expect(facts.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(facts.upstreamCalls.map(({ ending }) => ending)).toEqual(['cut-after', 'complete', 'complete']);
    expect(facts.stdout).toContain('Reconnecting... 1/5');
    expect(facts.stdout).toContain('"type":"turn.completed"');
  });
});

test('a model that has no tools is refused with the reason, and asked once', async () => {
  const facts = await runErrand('codex', codex, 'completions');
  expect(facts.exitCode).toBe(1);
  expect(facts.stdout).toMatch(/'tools\S* cannot be carried to this model/);
  expect(facts.requests.map(({ status }) => status)).toEqual([400]);
  expect([facts.upstreamCalls, facts.namesLookedUp, facts.marker]).toEqual([[], [], null]);
});

function inJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
