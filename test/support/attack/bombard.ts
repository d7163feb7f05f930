// What does a server say to bombs and broken requests, for as long as somebody sends them? Seeded; the request of an answer that must
// not be is kept.

import type { DialectName, RoutingTable } from '../../../core/contract/routing-table.ts';
import { tableOf } from '../../gateway/rig.ts';
import { openRaw, type RawConnection, writeRequest } from '../raw-client.ts';
import { makeRandom } from '../wall/split.ts';
import { bombBytes, bombs } from './json-bombs.ts';
import { mutate } from './mutate.ts';
import type { AttackTarget } from './slow-clients.ts';

export interface Bombardment {
  /** Requests sent. */
  readonly sent: number;
  readonly statuses: ReadonlyMap<number, number>;
  /** Answers that must not be: 500, or none at all for a well-formed request. In words, with the request in base64. */
  readonly wrong: readonly string[];
}

const places: readonly (readonly [path: string, dialect: DialectName])[] = [
  ['/v1/chat/completions', 'openai-chat'],
  ['/v1/responses', 'openai-responses'],
  ['/v1/messages', 'anthropic-messages'],
  ['/v1/completions', 'openai-completions'],
  ['/v1/messages/count_tokens', 'anthropic-messages'],
];

const upstreamDialects = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;

/** A route to an upstream of each dialect, so that most requests are translated; those that begin alike go together. */
export function bombedTable(baseUrl: string): RoutingTable {
  const tables = upstreamDialects.map((dialect) => {
    const table = tableOf([{ baseUrl, dialects: [dialect], provider: `platform/${dialect}` }]);
    const routes = table.routes.map((route) => ({
      ...route,
      ...{ id: `team/${dialect}`, model: dialect },
      failover: { ...route.failover, affinity: 'PromptPrefix' as const },
    }));
    return { ...table, routes };
  });
  return {
    ...tableOf([]),
    providers: tables.flatMap(({ providers }) => providers),
    routes: tables.flatMap(({ routes }) => routes),
  };
}

/** Requests sent on one connection before it is closed. */
const perConnection = 50;

/** @param target Has the table of `bombedTable`. */
export async function bombard(
  target: Pick<AttackTarget, 'port' | 'authorization'>,
  { seed, seconds, lanes = 2 }: { readonly seed: number; readonly seconds: number; readonly lanes?: number },
): Promise<Bombardment> {
  const endsAt = performance.now() + seconds * 1000;
  const statuses = new Map<number, number>();
  const wrong: string[] = [];
  let sent = 0;
  const count = (status: number): void => void statuses.set(status, (statuses.get(status) ?? 0) + 1);

  const lane = async (number: number): Promise<void> => {
    const random = makeRandom(seed + number);
    while (performance.now() < endsAt && wrong.length < 10) {
      const connection = await openRaw({ port: target.port });
      for (let n = 0; n < perConnection && performance.now() < endsAt; n++) {
        const { bytes, isWellFormed } = makeRequest(target, random);
        sent++;
        const status = await statusOf(connection, bytes, isWellFormed);
        count(status);
        const isWrong = status === 500 || (status === 0 && isWellFormed);
        if (isWrong) wrong.push(`${status} for ${bytes.subarray(0, 4_096).toString('base64')}`);
        if (status === 0 || !isWellFormed) break;
      }
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  return { sent, statuses, wrong };
}

function makeRequest(
  { authorization }: Pick<AttackTarget, 'authorization'>,
  random: () => number,
): { readonly bytes: Buffer; readonly isWellFormed: boolean } {
  const [path, dialect] = pick(places, random);
  const request = { dialect, model: pick(upstreamDialects, random) };
  const body = Buffer.from(pick(Object.values(bombs), random)(request, bombBytes(random)));
  const isBroken = random() < 0.5;
  const around = (sentBody: Buffer): Buffer =>
    writeRequest({ path, headers: { authorization, 'anthropic-version': '2023-06-01' }, body: sentBody });
  // Every tenth is broken in its head too.
  if (isBroken && random() < 0.2)
    return { bytes: mutate(around(body.subarray(0, 2_000)), random), isWellFormed: false };
  return { bytes: around(isBroken ? mutate(body, random) : body), isWellFormed: true };
}

/** 0: there was no answer. */
async function statusOf(connection: RawConnection, bytes: Buffer, isWellFormed: boolean): Promise<number> {
  const answer = connection.answer().catch(() => undefined);
  await connection.send(bytes).catch(() => {});
  // Of one with a broken head, nobody knows where it ends.
  if (!isWellFormed) connection.halfClose();
  const reported = await answer;
  await reported?.finished;
  return reported?.status ?? 0;
}

function pick<T>(values: readonly T[], random: () => number): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
}
