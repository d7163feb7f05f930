// A body of megabytes is looked at in steps: what becomes of it, and of those beside it?

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeyUse } from '../../../gateway/admission/fair-share.ts';
import { LargeBodies } from '../../../gateway/endpoints/large-bodies.ts';
import { ReadingTurns } from '../../../gateway/stream/reading-turns.ts';
import { startWall, type Wall } from '../../support/wall.ts';
import { type Rig, startRig, tableOf } from '../rig.ts';
import { errorOf, messagesErrorOf, post } from './ask.ts';

const mebibyte = 1024 * 1024;

describe('turns of the event loop for large bodies', () => {
  let pending: (() => void)[];
  let bodies: LargeBodies;
  let timers: { readonly ms: number; readonly callback: () => void }[];
  let hasOtherKeys: boolean;
  let nowMs = 0;

  beforeEach(() => {
    pending = [];
    const turns = new ReadingTurns({ now: () => 0, nextTurn: (callback) => pending.push(callback) });
    timers = [];
    hasOtherKeys = false;
    bodies = new LargeBodies({
      turns,
      admission: {
        get hasOtherKeys() {
          return hasOtherKeys;
        },
      },
      clock: {
        now: () => (nowMs += 10),
        setTimer: (ms, callback) => {
          timers.push({ ms, callback });
          return () => {};
        },
      },
    });
  });

  const keyOf = (): KeyUse => ({ inFlight: 1, idleLooks: 0, tenant: { inFlight: 1, keys: new Set() } });
  const large = [Buffer.from(`{"a":"${'\\"'.repeat(mebibyte)}"}`)];
  const read = (key: KeyUse, isWanted = true): Promise<unknown> =>
    bodies.read(
      key,
      large,
      () => false,
      () => isWanted,
    );
  /** @returns How many there were. */
  const turnsUntil = async (isOver: () => boolean): Promise<number> => {
    for (let count = 0; ; count++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (isOver()) return count;
      for (const callback of pending.splice(0)) callback();
    }
  };

  test('come between the steps of one body', async () => {
    let isRead = false;
    void read(keyOf()).then(() => {
      isRead = true;
    });
    expect(await turnsUntil(() => isRead)).toBeGreaterThanOrEqual(8);
  });

  test('are shared by the bodies of two keys, and each key has one body at a time', async () => {
    const order: string[] = [];
    const [one, other] = [keyOf(), keyOf()];
    for (const name of ['first', 'second', 'third']) void read(one).then(() => order.push(name));
    void read(other).then(() => order.push('other'));
    await turnsUntil(() => order.length === 4);
    expect(order).toEqual(['first', 'other', 'second', 'third']);
  });

  test('go to other keys for three times as long as a body took, before the next body of its key', async () => {
    hasOtherKeys = true;
    const key = keyOf();
    const order: string[] = [];
    for (const name of ['first', 'second']) void read(key).then(() => order.push(name));
    await turnsUntil(() => timers.length === 1);
    expect({ order, ms: timers[0]?.ms }).toEqual({ order: ['first'], ms: 30 });
    timers[0]?.callback();
    await turnsUntil(() => order.length === 2);
  });

  test('are not spent on a body whose client has disconnected, and the next body is read', async () => {
    const key = keyOf();
    const [gone, next] = [read(key, false), read(key)];
    let isRead = false;
    void next.then(() => {
      isRead = true;
    });
    expect(await gone).toBeUndefined();
    await turnsUntil(() => isRead);
  });

  test('end without a body if its client disconnects between two of them', async () => {
    let isThere = true;
    let given: unknown = 'nothing yet';
    const left = bodies.read(
      keyOf(),
      large,
      () => false,
      () => isThere,
    );
    void left.then((body) => {
      given = body;
    });
    await new Promise((resolve) => setImmediate(resolve));
    isThere = false;
    await turnsUntil(() => given !== 'nothing yet');
    expect(given).toBeUndefined();
  });

  test('read one body at a time, so that only its parsed form is in memory', async () => {
    const parsed: string[] = [];
    const readAs = (name: string): Promise<unknown> =>
      bodies.read(
        keyOf(),
        large,
        () => parsed.push(name) > 0,
        () => true,
      );
    let isOver = false;
    const all = Promise.all([
      readAs('one').then(() => parsed.push('one is read')),
      readAs('other').then(() => parsed.push('other is read')),
    ]);
    void all.then(() => {
      isOver = true;
    });
    await turnsUntil(() => isOver);
    expect(parsed).toEqual(['one', 'one is read', 'other', 'other is read']);
  });
});

describe('a large body', () => {
  let wall: Wall;
  let rig: Rig;

  const start = async (dialects: ['openai-chat'] | ['anthropic-messages']): Promise<void> => {
    wall = await startWall({ type: 'answer' });
    rig = await startRig(tableOf([{ baseUrl: wall.baseUrl, dialects, providerEntry: { dialects } }]));
  };

  afterEach(async () => {
    await rig.close();
    await wall.close();
    expect(rig.failures).toEqual([]);
  });

  const path = '/v1/chat/completions';
  const prompt = 'é "quoted" \u{1f600}\n'.repeat(150_000);
  const body = { model: 'm', messages: [{ role: 'user', content: prompt }] };

  test('is forwarded unchanged', async () => {
    await start(['openai-chat']);
    expect((await post(rig, path, { ...body, zzz: 1 })).status).toBe(200);
    const { json } = await wall.nextCall();
    expect(json).toEqual({ ...body, zzz: 1, model: 'upstream-0' });
  });

  test('is translated as a small one is', async () => {
    await start(['anthropic-messages']);
    const answers = [
      await post(rig, path, body),
      await post(rig, path, { model: 'm', messages: [{ role: 'user', content: 'x' }] }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const [large, small] = [await wall.nextCall(), await wall.nextCall()];
    expect(JSON.stringify(large.json).replace(JSON.stringify(prompt), '"x"')).toBe(
      JSON.stringify(small.json),
    );
  });

  test('that is no JSON, or names a member twice, is refused', async () => {
    await start(['openai-chat']);
    const text = JSON.stringify(body);
    const broken = await post(rig, path, `${text.slice(0, -1)},}`);
    expect([broken.status, errorOf(broken).message]).toEqual([
      400,
      expect.stringContaining('not valid JSON'),
    ]);
    const twice = await post(rig, path, `${text.slice(0, -1)},"model":"n"}`);
    expect([twice.status, errorOf(twice).param]).toEqual([400, 'model']);
    expect(wall.calls).toHaveLength(0);
  });

  test('may begin with a byte order mark, and in UTF-16 it is refused by name', async () => {
    await start(['openai-chat']);
    const text = JSON.stringify(body);
    expect((await post(rig, path, `\uFEFF${text}`)).status).toBe(200);
    expect((await wall.nextCall()).json).toEqual({ ...body, model: 'upstream-0' });
    const refused = await post(rig, path, Buffer.from(text, 'utf16le'));
    expect([refused.status, errorOf(refused).message]).toEqual([400, expect.stringContaining('UTF-16')]);
  });

  test('that is read, and is no JSON inside, is refused', async () => {
    await start(['anthropic-messages']);
    const broken = await post(rig, path, JSON.stringify(body).replace('quoted', '\\x'));
    expect([broken.status, errorOf(broken).message]).toEqual([400, 'The body is not valid JSON.']);
  });

  const long = '\\"'.repeat(mebibyte);
  const of = (member: string): string =>
    `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],${member}}`;

  test.each([
    [path, `"metadata":{"user_id":"${long}"}`, 'metadata', /at most 16 entries of at most 512 characters/],
    [path, `"safety_identifier":"${long}"`, 'safety_identifier', /at most 64 characters/],
    [path, `"user":"${long}"`, 'user', /longer than 1 MiB/],
    [path, `"max_tokens_":1,"seed":${'1'.repeat(2 * mebibyte)}`, 'seed', /longer than 1 MiB/],
    [path, `"extra_body":{"a":"${long}"}`, 'extra_body', /longer than 1 MiB/],
    ['/v1/messages', `"metadata":{"user_id":"${long}"}`, 'metadata', /longer than 1 MiB/],
  ])('of %s is refused before it is parsed where %.20s is too long', async (route, member, param, words) => {
    await start(['openai-chat']);
    const refused = await post(rig, route, of(member));
    expect(refused.status).toBe(400);
    if (route === path)
      expect(errorOf(refused)).toMatchObject({ param, message: expect.stringMatching(words) });
    else expect(messagesErrorOf(refused).error.message).toMatch(words);
    expect(wall.calls).toHaveLength(0);
  });
});
