// Far more work than a gateway takes, over real sockets: is every answer whole or a refusal that says when to come back, and is all
// well afterwards? At full rate and with figures: test/e2e/overload.e2e.ts.

import { expect, test } from 'vitest';
import { launchListening, makeFolder } from '../gateway/process/gateway-process.ts';
import { tableOf } from '../gateway/rig.ts';
import { openRaw, writeRequest } from '../support/raw-client.ts';
import { startWall } from '../support/wall.ts';
import { endsWell, errorOf, portOf, requestOf, type Seen, textOf, wallText } from './ask.ts';

const inFlightMax = 25;
const callers = 4 * inFlightMax;
const asksEach = 5;

test('under four times its load a gateway sends only whole answers and rejections, and afterwards no rejections', async () => {
  await using parts = new AsyncDisposableStack();
  const folder = await makeFolder();
  parts.defer(() => folder.remove());
  const wall = await startWall({ type: 'answer', betweenEvents: { ms: 5 } });
  parts.defer(() => wall.close());
  await folder.putTable(tableOf([{ baseUrl: wall.baseUrl }]));
  const gateway = await launchListening(folder, {
    PENSTOCK_REQUESTS_IN_FLIGHT_MAX: String(inFlightMax),
    PENSTOCK_DRAIN_GRACE_MS: '1000',
  });
  parts.defer(async () => void (await gateway.process.stop()));
  await gateway.process.line(/routing table in use/);
  const request = writeRequest(requestOf({ isStream: true }));

  /** Each on a connection of its own, which is kept. */
  const askFrom = async (count: number): Promise<readonly Seen[]> => {
    const all = await Promise.all(
      Array.from({ length: count }, async () => {
        const connection = await openRaw({ port: portOf(gateway) });
        const seen: Seen[] = [];
        for (let n = 0; n < asksEach; n++) {
          await connection.send(request);
          const answer = await connection.answer();
          seen.push({ ...answer, ...(await answer.finished) });
        }
        connection.close();
        return seen;
      }),
    );
    return all.flat();
  };

  const over = await askFrom(callers);
  const served = over.filter(({ status }) => status === 200);
  const refused = over.filter(({ status }) => status !== 200);
  // The fault fired, and work was done all the same.
  expect(refused.length).toBeGreaterThan(callers);
  expect(served.length).toBeGreaterThanOrEqual(inFlightMax);
  expect(served.filter((seen) => textOf(seen) !== wallText || !endsWell(seen))).toEqual([]);
  expect(
    new Set(refused.map((seen) => [seen.status, errorOf(seen)?.code, seen.headers['retry-after']].join())),
  ).toEqual(new Set(['503,overloaded,1']));
  // What is refused costs no upstream anything.
  expect(wall.calls).toHaveLength(served.length);

  const after = await askFrom(10);
  expect(after.filter((seen) => seen.status !== 200 || textOf(seen) !== wallText)).toEqual([]);
  expect(gateway.process.stdout()).not.toContain('a request failed');
}, 60_000);
