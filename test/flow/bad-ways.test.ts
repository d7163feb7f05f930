// What if the way is bad, to the upstream or to the caller? Over hundreds of seeded faults of connections every answer is whole or
// ends with an error, and the ledger holds what the wall counted.

import { expect, test } from 'vitest';
import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { DialectName } from '../../core/contract/routing-table.ts';
import type { Rig } from '../gateway/rig.ts';
import {
  type FaultProxy,
  type LinkFaultType,
  seededSchedule,
  startFaultProxy,
} from '../support/fault-proxy.ts';
import { rawCall } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import type { Call, Wall } from '../support/wall.ts';
import { type Endpoint, endsWell, errorOf, portOf, requestOf, type Seen, textOf, wallText } from './ask.ts';
import { type House, inHouse } from './house.ts';

const seed = Number(process.env.PENSTOCK_SEED ?? 20_261);
const atOnce = 12;
const dialects: readonly DialectName[] = [
  'openai-chat',
  'openai-completions',
  'anthropic-messages',
  'openai-responses',
];
const endpoints: readonly Endpoint[] = ['chat', 'completions', 'messages', 'responses'];

/** Every fault but a wrong byte, which only a checksum sees: TLS has one, plain HTTP has none. */
const breaking: readonly LinkFaultType[] = ['delay', 'throttle', 'cut', 'reset', 'half-close', 'black-hole'];
const lasting = breaking.filter((type) => type !== 'black-hole');

/** A request and all that is known of it. */
interface Asked {
  readonly isStream: boolean;
  /** Undefined: the connection ended before a head came. */
  readonly seen: Seen | undefined;
  readonly calls: readonly Call[];
  readonly records: readonly LedgerRecord[];
}

async function proxyTo(house: House, port: number, types: readonly LinkFaultType[]): Promise<FaultProxy> {
  const bytesMax = { down: 2_500, up: 500 };
  const schedule = seededSchedule({ seed, types, bytesMax, bytesPerSecond: 50_000 });
  const proxy = await startFaultProxy({ port, schedule });
  house.onClose(() => proxy.close());
  return proxy;
}

/** Two providers: the first at this address, the second well. */
async function rigOver(house: House, baseUrl: string, second: Wall): Promise<Rig> {
  const breaker = { consecutiveFailures: 0, openForMs: 1, maxOpenMs: 1, rateLimitCooldownMs: 1 };
  // Of a plain answer nothing but the one deadline sees that the way has swallowed it.
  const timeouts = { firstEventMs: 1_000, lastFirstEventMs: 1_000, livenessMs: 1_000, totalMs: 5_000 };
  const common = { dialects: [...dialects] };
  return house.rigOf([
    {
      ...common,
      baseUrl,
      timeouts,
      providerEntry: { breaker },
    },
    { ...common, baseUrl: second.baseUrl, timeouts: { totalMs: timeouts.totalMs } },
  ]);
}

/** Asks until so many faults have fired, in all dialects, streamed and plain. */
async function askOver(
  { rig, port, walls, proxy }: { rig: Rig; port: number; walls: readonly Wall[]; proxy: FaultProxy },
  faults: number,
): Promise<Asked[]> {
  const fired = (): number => proxy.passages.filter(({ isFired }) => isFired).length;
  const asked: { place: number; isStream: boolean; seen: Seen | undefined }[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (fired() < faults) {
      const place = next++;
      const isStream = place % 3 !== 0;
      const request = requestOf({ endpoint: endpoints[place % 4] ?? 'chat', isStream });
      const more = { user: markOf(place), metadata: { user_id: markOf(place) } };
      const body = {
        ...request.body,
        ...(place % 4 === 2 ? { metadata: more.metadata } : { user: more.user }),
      };
      // A connection that ends before the head has come is an error that any client sees.
      const seen = await rawCall({ port }, { ...request, body }).catch(() => undefined);
      asked.push({ place, isStream, seen });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const calls = walls.flatMap((wall) => wall.calls);
  await Promise.all(calls.map((call) => call.finished));
  // The caller may be served before what it cost is written down.
  await until(async () => rig.records.length >= calls.length);
  return asked.map(({ place, isStream, seen }) => {
    const own = calls.filter(({ bodyText }) => bodyText.includes(`"${markOf(place)}"`));
    const id = seen?.headers['x-request-id'];
    return { isStream, seen, calls: own, records: rig.records.filter(({ request }) => request === id) };
  });
}

function markOf(place: number): string {
  return `request-${place}-`;
}

/** In words what is wrong with an answer; undefined where it is whole, or says that it is not. */
function complaintOf({ seen, isStream }: Asked): string | undefined {
  if (seen === undefined) return undefined;
  const hasGoodEnd = seen.ending === 'last-chunk' || seen.ending === 'length-complete';
  if (seen.status !== 200) {
    const isTold = !hasGoodEnd || errorOf(seen) !== undefined;
    return isTold ? undefined : `${seen.status} without an error: ${seen.text}`;
  }
  const isWhole = textOf(seen) === wallText && (!isStream || endsWell(seen));
  if (hasGoodEnd && !isWhole) return `ends well and is not whole: ${seen.text}`;
  return undefined;
}

function isWhole({ seen, isStream }: Asked): boolean {
  return seen?.status === 200 && textOf(seen) === wallText && (!isStream || endsWell(seen));
}

/** Where the ledger and the wall disagree about one request. */
function disagreementOf({ seen, calls, records }: Asked): string | undefined {
  // A caller that got no id: its records are counted with those of all such.
  if (seen?.headers['x-request-id'] === undefined) return undefined;
  if (records.length < calls.length) return `${calls.length} calls, ${records.length} records`;
  if (records.filter(({ outcome }) => outcome === 'answered').length > 1) return 'answered twice';
  const strange = records.filter(
    (record) => !isNothing(record) && !calls.some((call) => isCountedAs(record, call)),
  );
  if (strange.length === 0) return undefined;
  return `${JSON.stringify(strange.map(({ outcome, usage }) => [outcome, usage]))} of ${JSON.stringify(calls.map(({ tokens }) => tokens))}`;
}

/** An attempt that may never have arrived. */
function isNothing({ outcome, usage }: LedgerRecord): boolean {
  return outcome === 'failed' && usage.input === 0 && usage.output === 0;
}

function isCountedAs({ outcome, usage, isEstimated }: LedgerRecord, { tokens }: Call): boolean {
  // Where a stream breaks between its last words and its counts, it is whole and its input an estimate.
  const isInputRight = isEstimated || tokens.inputTokens === usage.input;
  if (outcome === 'answered') return isInputRight && tokens.outputTokens === usage.output;
  // A message speaks of one token before there is any.
  return usage.output <= Math.max(tokens.outputTokens, 1);
}

function expectTruth(asked: readonly Asked[], proxy: FaultProxy, rig: Rig, faults: number): void {
  const fired = proxy.passages.filter(({ isFired }) => isFired);
  const note = `seed ${seed}, ${asked.length} requests, ${fired.length} faults`;
  expect(
    asked.flatMap((one) => complaintOf(one) ?? []),
    note,
  ).toEqual([]);
  expect(
    asked.flatMap((one) => disagreementOf(one) ?? []),
    note,
  ).toEqual([]);
  // Of callers that got no id: as many records as calls, none of them without an end of its own.
  const untold = asked.filter(({ seen }) => seen?.headers['x-request-id'] === undefined);
  const reported = new Set(asked.flatMap(({ records }) => records));
  expect(rig.records.filter((record) => !reported.has(record)).length, note).toBe(
    untold.flatMap(({ calls }) => calls).length,
  );
  expect(fired.length, note).toBeGreaterThanOrEqual(faults);
  expect(new Set(fired.map(({ fault }) => fault.type)).size, note).toBeGreaterThanOrEqual(5);
  expect(rig.failures, note).toEqual([]);
}

test(
  '300 faults between the gateway and its upstream: each answer is complete or ends with an error, and the ledger agrees',
  inHouse(async (house) => {
    // A connection of its own for each call, so that each has its fault.
    const first = await house.wallThat({ type: 'answer', afterwards: 'close' });
    const second = await house.wallThat({ type: 'answer' });
    const proxy = await proxyTo(house, first.port, breaking);
    const rig = await rigOver(house, `${proxy.url}/v1`, second);
    const asked = await askOver({ rig, port: portOf(rig), walls: [first, second], proxy }, 300);
    expectTruth(asked, proxy, rig, 300);
    // Whatever broke before content is answered by the other; here the caller always has its connection.
    const lost = asked.filter((one) => !isWhole(one) && one.records.at(-1)?.outcome !== 'broken-off');
    const timedOut = ({ seen }: Asked): boolean =>
      seen !== undefined && errorOf(seen)?.code === 'upstream_timeout';
    expect(lost.filter((one) => !timedOut(one)).map(({ seen }) => seen?.text)).toEqual([]);
    expect(asked.filter(isWhole).length).toBeGreaterThan(asked.length / 2);
  }),
  120_000,
);

test(
  '300 faults between callers and the gateway: no truncated answer looks complete, and the ledger agrees',
  inHouse(async (house) => {
    const wall = await house.wallThat({ type: 'answer' });
    const second = await house.wallThat({ type: 'answer' });
    const rig = await rigOver(house, wall.baseUrl, second);
    const proxy = await proxyTo(house, portOf(rig), lasting);
    const asked = await askOver({ rig, port: proxy.port, walls: [wall, second], proxy }, 300);
    expectTruth(asked, proxy, rig, 300);
  }),
  120_000,
);
