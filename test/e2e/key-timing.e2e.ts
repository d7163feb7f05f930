// Does the time of a refusal say why a key was refused? Four causes in turn on one connection, 20,000 times each, in requests of one and
// the same length; then their distributions are compared.

import { expect, test } from 'vitest';
import { launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { keyEntry, tableOf } from '../gateway/rig.ts';
import { openRaw, writeRequest } from '../support/raw-client.ts';
import { load } from './scale/readings.ts';
import { openScorecard } from './scorecard.ts';

const rounds = Number(process.env.PENSTOCK_KEY_TIMING_ROUNDS ?? 20_000);
const key = (letter: string): string => `psk_${letter.repeat(49)}`;
const bearer = (value: string): string => `Bearer ${value}`;

/** What is in the header is of one length for all of them. */
const causes: Readonly<Record<string, Record<string, string>>> = {
  missing: { 'x-no-key-here': bearer('-'.repeat(53)) },
  unknown: { authorization: bearer(key('u')) },
  // Taken out of the table with its object.
  revoked: { authorization: bearer(key('r')) },
  expired: { authorization: bearer(key('e')) },
};

test('four causes of a 401 take the same time', async () => {
  const card = openScorecard(`401 by cause, ${rounds} each`);
  const folder = await makeFolder();
  const table = tableOf([{ baseUrl: 'http://127.0.0.1:9/v1' }]);
  await folder.putTable({
    ...table,
    keys: [...table.keys, { ...keyEntry(key('e'), 'team/expired'), notAfterMs: 1 }],
  });
  const gateway = await launchListening(folder, { PENSTOCK_FAILED_KEYS_PER_MINUTE: '0' });
  await gateway.process.line(/routing table in use/);
  const requests = Object.entries(causes).map(([name, headers]) => ({
    name,
    bytes: writeRequest({ path: '/v1/chat/completions', headers, body: {} }),
    tookMs: [] as number[],
  }));
  const connection = await openRaw({ port: Number(new URL(gateway.url).port) });
  connection.socket.setNoDelay(true);
  let others = 0;
  for (let round = -2_000; round < rounds; round++) {
    // Each cause follows each other one as often.
    const from = round & 3;
    for (let n = 0; n < requests.length; n++) {
      const request = requests[(from + n * (round & 4 ? 3 : 1)) % requests.length];
      if (request === undefined) continue;
      const askedAt = performance.now();
      await connection.send(request.bytes);
      const answer = await connection.answer();
      await answer.finished;
      if (answer.status !== 401) others++;
      if (round >= 0) request.tookMs.push(performance.now() - askedAt);
    }
  }
  connection.close();
  await gateway.process.stop();
  await folder.remove();
  const [reference, ...rest] = requests.map(({ name, tookMs }) => ({
    name,
    tookMs: tookMs.sort((a, b) => a - b),
  }));
  if (reference === undefined) throw new Error('there are causes');
  for (const { name, tookMs } of rest) {
    const ratio = median(tookMs) / median(reference.tookMs);
    const z = rankSum(reference.tookMs, tookMs);
    card.add({
      what: `${name} and ${reference.name}: medians within 5 %, no difference between the two (rank sum, p > 0.001)`,
      tried: tookMs.length,
      failed: Math.abs(ratio - 1) < 0.05 && Math.abs(z) < 3.29 ? 0 : 1,
      fired: others === 0 ? tookMs.length : 0,
      figures: `${(median(tookMs) * 1000).toFixed(1)} and ${(median(reference.tookMs) * 1000).toFixed(1)} µs, z = ${z.toFixed(2)}; load of the machine ${load()}`,
    });
  }
  card.print();
  expect(card.misses()).toEqual([]);
});

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** The z of Wilcoxon's rank sum for two sorted samples: 0 where neither tends to be larger. */
function rankSum(left: readonly number[], right: readonly number[]): number {
  const all = [
    ...left.map((value) => ({ value, isLeft: true })),
    ...right.map((value) => ({ value, isLeft: false })),
  ].sort((a, b) => a.value - b.value);
  let sum = 0;
  for (let at = 0; at < all.length; ) {
    let end = at;
    while (all[end + 1]?.value === all[at]?.value) end++;
    const rank = (at + end) / 2 + 1;
    for (; at <= end; at++) if (all[at]?.isLeft) sum += rank;
  }
  const [n, m] = [left.length, right.length];
  return (sum - (n * (n + m + 1)) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
}
