// What becomes of requests while a provider's key is replaced again and again, and the old one is refused at once? The scene of
// rotation.test.ts and of the long form.

import { expect, vi } from 'vitest';
import type { RouteEntry, RoutingTable } from '../../core/contract/routing-table.ts';
import { type Rig, startRig, tableOf } from '../gateway/rig.ts';
import type { Behaviour, Wall } from '../support/wall.ts';
import { type AskOptions, ask, textOf, wallText } from './ask.ts';
import type { House } from './house.ts';

const endpoints = ['chat', 'completions', 'messages', 'responses'] as const;
const dialects = ['openai-chat', 'openai-completions', 'anthropic-messages', 'openai-responses'] as const;

export const refusal = { type: 'status', status: 401 } satisfies Behaviour;
export const onlyKey =
  (key: string) =>
  ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }): Behaviour =>
    keyIn(headers) === key ? { type: 'answer' } : refusal;
/** As each dialect carries it. */
const keyIn = (headers: Readonly<Record<string, string | undefined>>): string =>
  (headers.authorization ?? headers['x-api-key'] ?? '').replace('Bearer ', '');

export function tableWith(wall: Wall, key: string, route: Partial<RouteEntry> = {}): RoutingTable {
  return tableOf([{ baseUrl: wall.baseUrl, keys: { main: key }, dialects: [...dialects] }], route);
}

/** Not even one retry is allowed, and none for a key that is refused. */
export const strict = { failover: { ...failoverOf(), maxAttempts: 1, retryOn: [] } };

/** In the four dialects, half of them for streams. */
export function callersOf(count: number): readonly AskOptions[] {
  return Array.from({ length: count }, (_, caller) => ({
    endpoint: endpoints[caller % endpoints.length] ?? 'chat',
    isStream: caller < count / 2,
  }));
}

/** Callers that ask again and again; whatever is not the whole answer is a failure. */
export function startLoad(rig: Rig, callers: readonly AskOptions[]) {
  const failures: unknown[] = [];
  let answers = 0;
  let isOver = false;
  const asking = callers.map(async (asked) => {
    while (!isOver) {
      const seen = await ask(rig, asked);
      if (seen.status === 200 && textOf(seen) === wallText) answers += 1;
      else failures.push([seen.status, seen.json]);
    }
  });
  return {
    failures,
    /** Until so many more have come. */
    async more(count: number): Promise<void> {
      const wanted = answers + failures.length + count;
      await vi.waitFor(() => expect(answers + failures.length).toBeGreaterThanOrEqual(wanted), {
        timeout: 20_000,
        interval: 2,
      });
    },
    async end(): Promise<void> {
      isOver = true;
      await Promise.all(asking);
    },
  };
}

/** Nobody gets an error. Gives how often the provider has met a new key. */
export async function replacedUnderLoad(
  house: House,
  callers: readonly AskOptions[],
  rotations: number,
): Promise<number> {
  const wall = await house.wallThat(onlyKey('sk-0'));
  const rig = await startRig(tableWith(wall, 'sk-0', strict));
  house.onClose(() => rig.close());
  const load = startLoad(rig, callers);
  // More than were in flight: some of them are sent with the new key.
  const enough = callers.length + 1;
  for (let number = 1; number <= rotations; number++) {
    await load.more(enough);
    rig.offer(tableWith(wall, `sk-${number}`, strict));
    wall.script(onlyKey(`sk-${number}`));
  }
  await load.more(enough);
  await load.end();
  expect(load.failures).toEqual([]);
  expect(new Set(wall.calls.map(({ voice }) => voice)).size).toBe(
    new Set(callers.map(({ endpoint }) => endpoint)).size,
  );
  const keys = wall.calls.map(({ headers }) => keyIn(headers));
  expect(keys.at(-1)).toBe(`sk-${rotations}`);
  return new Set(keys).size - 1;
}

export function failoverOf(): RouteEntry['failover'] {
  const [route] = tableOf([{ baseUrl: 'http://127.0.0.1/v1' }]).routes;
  if (route === undefined) throw new Error('the table has no route');
  return route.failover;
}
