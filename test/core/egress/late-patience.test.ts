// A question that has been running for longer than anybody waits: the last answer serves at once, and Node has nothing to warn of.
// Its warnings are plain text among the lines of the log, which are JSON.

import { expect, test } from 'vitest';
import { createResolver } from '../../../core/egress/resolve.ts';

test('after a long silence of the resolver, no caller waits and no warning is written', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  let nowMs = 0;
  let isSilent = false;
  const silence = Promise.withResolvers<readonly string[]>();
  const resolve = createResolver({
    resolve: async () => (isSilent ? silence.promise : ['192.0.2.1']),
    nowMs: () => nowMs,
    patienceMs: 1,
  });
  process.on('warning', note);
  try {
    await resolve('provider.example');
    isSilent = true;
    const first = resolve('provider.example');
    nowMs += 1_000;
    expect([await first, await resolve('provider.example')]).toEqual([['192.0.2.1'], ['192.0.2.1']]);
    await new Promise((turn) => setImmediate(turn));
  } finally {
    process.off('warning', note);
  }
  expect(warnings).toEqual([]);
});
