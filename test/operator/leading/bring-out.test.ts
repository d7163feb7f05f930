// From run to run of a leader: what goes out while a pin is there, or a gateway that reads older tables only? And whose is a key
// that was revoked?

import { describe, expect, test } from 'vitest';
import type { TableContent } from '../../../core/contract/routing-table.ts';
import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, secret, snapshot } from '../make.ts';
import { NOW_MS, startLeader, tunnel } from './leader.ts';

const FIRST = snapshot({
  providers: [provider()],
  modelRoutes: [route()],
  apiKeys: [apiKey()],
  secrets: [secret()],
});

test('a pin publishes an earlier table under a new number; only ends of keys take effect; after the pin, all changes do', async () => {
  const { state, tables, pins, change, run } = startLeader(FIRST);
  expect((await run()).generation).toBe(1);
  change({ modelRoutes: [route({ model: 'other' })] });
  expect((await run()).generation).toBe(2);

  state.pin = '1';
  const first = await run();
  expect(first.generation).toBe(3);
  expect(tables[2]).toEqual(tables[0]);
  expect(pins.at(-1)).toEqual({ type: 'pinned', generation: 1 });
  expect([...first.waits]).toEqual([
    [
      'ModelRoute/team-a/chat',
      {
        status: 'Unknown',
        reason: 'Pinned',
        message: expect.stringMatching(/^the table is pinned to generation 1; .*: kubectl annotate …$/),
      },
    ],
  ]);
  change({ providers: [provider({ displayName: 'Another' })] });
  const second = await run();
  expect(second.generation).toBe(3);
  expect([...second.waits.keys()]).toEqual(['Provider/team-a/openai', 'ModelRoute/team-a/chat']);
  change({ apiKeys: [apiKey({ disabled: true })] });
  expect((await run()).generation).toBe(4);
  expect(tables[3]).toEqual({ ...tables[0], keys: [] });

  state.pin = undefined;
  const last = await run();
  expect(last.generation).toBe(5);
  expect(last.waits.size).toBe(0);
  expect(tables[4]?.routes[0]?.model).toBe('other');
  expect(pins.at(-1)).toBeUndefined();
});

test.each(['9', 'yesterday'])('a pin to %s, which is not kept, holds the table in use', async (wanted) => {
  const { state, pins, change, run } = startLeader(FIRST);
  await run();
  state.pin = wanted;
  change({ modelRoutes: [route({ model: 'other' })] });
  const { generation, waits } = await run();
  expect(generation).toBe(1);
  expect([...waits.keys()]).toEqual(['ModelRoute/team-a/chat']);
  expect(pins.at(-1)).toMatchObject({ type: 'impossible', wanted });
});

test('while a gateway reads only older tables, only the newer form waits, and is published automatically later', async () => {
  const { state, tables, change, run } = startLeader(FIRST);
  state.readers = [
    { name: 'a', maxFormat: 2 },
    { name: 'b', maxFormat: 1 },
  ];
  await run();
  state.isTunnelled = true;
  change({ modelRoutes: [route({ model: 'other' })] });
  const waiting = await run();
  expect(tables[1]?.providers).toEqual(tables[0]?.providers);
  expect(tables[1]?.routes[0]?.model).toBe('other');
  expect([...waiting.waits.keys()]).toEqual(['Provider/team-a/openai']);

  state.readers = [{ name: 'a', maxFormat: 2 }];
  const out = await run();
  expect(out.waits.size).toBe(0);
  expect(tables[2]?.providers[0]?.proxy).toEqual(tunnel);
  // An operator that has not heard anybody yet leaves it as it is.
  state.readers = [{ name: 'a', maxFormat: undefined }];
  expect((await run()).generation).toBe(3);
});

describe('a key of team-b, whose digest team-a has imported too', () => {
  const A = 'a'.repeat(64);
  const inB = (name = 'bot') =>
    apiKey({}, { namespace: 'team-b', name, creationTimestamp: '2026-01-02T00:00:00Z' });
  /** The older one: by age alone it would win. */
  const inA = apiKey({}, { name: 'thief', creationTimestamp: '2026-01-01T00:00:00Z' });
  const holders = ({ keys }: TableContent) => keys.map(({ id }) => id);
  type Leader = ReturnType<typeof startLeader>;

  async function served(leader: Leader, ...apiKeys: RawObject[]): Promise<string[]> {
    leader.change({ apiKeys });
    return holders((await leader.run()).content);
  }
  /** As after a crash: nothing but the table and what was written beside it. */
  const nextLeader = ({ tables, state }: Leader) =>
    startLeader(FIRST, { content: tables.at(-1), retired: state.retired });

  test('works for no namespace after team-b has deleted it, and for team-b after it is applied again', async () => {
    const leader = startLeader(FIRST);
    expect(await served(leader, inB())).toEqual(['team-b/bot']);
    expect(await served(leader, inB(), inA)).toEqual(['team-b/bot']);
    expect(await served(leader, inA)).toEqual([]);
    expect(leader.state.retired).toEqual([{ digest: A, namespace: 'team-b', retiredMs: NOW_MS }]);
    expect(await served(leader, inA, inB())).toEqual(['team-b/bot']);
  });

  test.each([
    ['its import was removed', [apiKey({ imports: [{ sha256: 'b'.repeat(64) }] }, { namespace: 'team-b' })]],
    ['it was disabled', [apiKey({ disabled: true }, { namespace: 'team-b' })]],
    ['it expired', [apiKey({ expiresAt: '2026-01-01T00:00:00Z' }, { namespace: 'team-b' })]],
  ])('is refused to team-a if %s', async (_, left) => {
    const leader = startLeader(FIRST);
    await served(leader, inB());
    await served(leader, inB(), inA);
    expect(await served(leader, inA, ...left)).not.toContain('team-a/thief');
    // Also where the rest is deleted later.
    expect(await served(leader, inA)).toEqual([]);
  });

  test('stays retired under the next leader, also after a deletion without a leader', async () => {
    const first = startLeader(FIRST);
    await served(first, inB());
    const second = nextLeader(first);
    expect(await served(second, inA)).toEqual([]);
    const third = nextLeader(second);
    expect(await served(third, inA)).toEqual([]);
    expect(await served(third, inA, inB())).toEqual(['team-b/bot']);
  });

  test('stays retired even if the table without it could not be written at first', async () => {
    const leader = startLeader(FIRST);
    await served(leader, inB());
    leader.state.isShut = true;
    await expect(served(leader, inA)).rejects.toThrow('away');
    leader.state.isShut = false;
    expect(await served(leader, inA)).toEqual([]);
    expect(leader.state.retired).toMatchObject([{ digest: A, namespace: 'team-b' }]);
  });

  test('works again from a restored backup: objects with new UIDs beside the older one of team-a', async () => {
    const first = startLeader(FIRST);
    await served(first, inB());
    await served(first);
    const restored = inB();
    const leader = nextLeader(first);
    expect(
      await served(leader, inA, { ...restored, metadata: { ...restored.metadata, uid: 'another' } }),
    ).toEqual(['team-b/bot']);
  });

  test('works under another name of its namespace, applied before or after the deletion of the old one', async () => {
    const leader = startLeader(FIRST);
    await served(leader, inB());
    await served(leader, inB(), inA);
    expect(await served(leader, inB(), inB('renamed'), inA)).toEqual(['team-b/bot']);
    expect(await served(leader, inB('renamed'), inA)).toEqual(['team-b/renamed']);
    await served(leader, inA);
    expect(await served(leader, inB('again'), inA)).toEqual(['team-b/again']);
  });

  test('goes to team-a once the platform releases it, and stays with team-a from then on', async () => {
    const leader = startLeader(FIRST);
    await served(leader, inB());
    expect(await served(leader, inA)).toEqual([]);
    leader.state.release = A.slice(0, 16);
    expect(await served(leader, inA)).toEqual(['team-a/thief']);
    expect(leader.released).toEqual([[A]]);
    leader.state.release = undefined;
    expect(await served(leader, inA, inB())).toEqual(['team-a/thief']);
    expect(await served(leader, inB())).toEqual([]);
  });
});
