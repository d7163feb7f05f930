// A watch whose server misbehaves in every way that we know goes on, and loses nothing.
//
// The informer of client-node stops for good on most of these. Each test plays the fault, then a healthy server with
// something new to say: if the reflector stays dead, `until` never settles.

import { afterEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../core/clock.ts';
import { openConnection } from '../../../core/kube/connection.ts';
import { makeFakeClock } from '../../support/fake-clock.ts';
import {
  type Answer,
  endless,
  json,
  line,
  list,
  object,
  refusal,
  reset,
  silence,
  startFaultServer,
  watch,
} from './fault-server.ts';
import { startWatched } from './watched.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Options = Partial<Parameters<typeof startWatched>[0]>;

/** Waits of a reflector are written down and take no time. */
function makeEagerClock(waits: number[]): Clock {
  const fake = makeFakeClock();
  return {
    now: fake.now,
    wallMs: fake.now,
    setTimer(ms, callback) {
      // What guards against silence is longer than any wait of these tests, and never runs out.
      if (ms >= 70_000) return () => {};
      waits.push(ms);
      const timer = setImmediate(() => {
        fake.advance(ms);
        callback();
      });
      return () => clearImmediate(timer);
    },
  };
}

async function start(answers: readonly Answer[], options: Options = {}) {
  const server = await startFaultServer(...answers);
  ends.push(() => server.close());
  const client = openConnection({ server: server.url });
  ends.push(() => client.close());
  const waits: number[] = [];
  const watched = startWatched({ client, path: '/x', clock: makeEagerClock(waits), ...options });
  ends.push(() => watched.reflector.close());
  const starts = () => server.asked.map((url) => (url.includes('watch=') ? `watch ${from(url)}` : 'list'));
  return { server, watched, starts, waits };
}

function from(url: string): string {
  return new URL(url.slice(4), 'http://x').searchParams.get('resourceVersion') ?? '';
}

const news = (name: string, version: number) => line('ADDED', object(name, version));
const bookmark = (version: number) =>
  line('BOOKMARK', { kind: 'ConfigMap', metadata: { resourceVersion: String(version) } });
const first = list(10, { x: 5 });
const resumed = watch(news('y', 30));
const isResumed = ({ reflector }: { reflector: { store: ReadonlyMap<string, string> } }) =>
  reflector.store.get('a/y') === '30';

describe('a watch after a list', () => {
  test('asks for bookmarks, from the version of the list, and for an end after five to ten minutes', async () => {
    const { server, watched } = await start([first, resumed], { random: () => 0.5 });
    await watched.until(isResumed);
    const query = new URL(server.asked[1]?.slice(4) ?? '', 'http://x').searchParams;
    expect(Object.fromEntries(query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '450',
    });
    expect(watched.reported).toEqual(['upserted a/x 5', 'listed', 'upserted a/y 30']);
  });

  test('asks for metadata alone if nothing else is wanted', async () => {
    const accepts: (string | undefined)[] = [];
    const noting =
      (answer: Answer): Answer =>
      (response, request) => {
        accepts.push(request.headers.accept);
        answer(response, request);
      };
    const { watched } = await start([noting(first), noting(resumed)], { metadataOnly: true });
    await watched.until(isResumed);
    expect(accepts).toEqual([
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ]);
  });

  test('keeps no managedFields', async () => {
    const kept: unknown[] = [];
    const convert = (found: { metadata: Record<string, unknown> }) => {
      kept.push(found.metadata.managedFields);
      return String(found.metadata.resourceVersion);
    };
    const { watched } = await start([first, resumed], { convert });
    await watched.until(isResumed);
    expect(kept).toEqual([undefined, undefined]);
  });
});

describe('a watch continues', () => {
  const cases: Readonly<Record<string, { answer: Answer; reason: string }>> = {
    'after a reset in its midst': {
      answer: watch(news('z', 20), (response) => response.socket?.resetAndDestroy()),
      reason: 'Cut',
    },
    'after an event that was cut in two': {
      answer: watch(`${news('z', 20)}${news('w', 21).slice(0, 30)}`, (response) => response.end()),
      reason: 'Cut',
    },
    'after a line that a reset cut in two': {
      answer: watch(`${news('z', 20)}${news('w', 21).slice(0, 30)}`, (response) =>
        response.socket?.resetAndDestroy(),
      ),
      reason: 'Cut',
    },
    'closed right after its first event': {
      answer: watch(news('z', 20), (response) => response.end()),
      reason: 'ClosedAtOnce',
    },
    'after an error event that is not about its start': {
      answer: watch(`${news('z', 20)}${line('ERROR', { kind: 'Status', code: 500, message: 'broken' })}`),
      reason: 'InternalServerError',
    },
  };
  for (const [name, { answer, reason }] of Object.entries(cases)) {
    test(name, async () => {
      const { watched, starts } = await start([first, answer, resumed]);
      await watched.until(isResumed);
      expect(starts()).toEqual(['list', 'watch 10', 'watch 20']);
      expect(watched.troubles.map((trouble) => trouble.reason)).toEqual([reason]);
      expect(watched.reported).toEqual(['upserted a/x 5', 'listed', 'upserted a/z 20', 'upserted a/y 30']);
    });
  }

  const refusals: Readonly<Record<string, { answer: Answer; reason: string }>> = {
    'after a reset instead of an answer': { answer: reset, reason: 'Unreachable' },
    'closed as soon as it was opened': {
      answer: watch('', (response) => response.end()),
      reason: 'ClosedAtOnce',
    },
    'refused with 500': { answer: refusal(500, 'InternalError'), reason: 'InternalError' },
    'refused with 403': { answer: refusal(403, 'Forbidden'), reason: 'Forbidden' },
  };
  for (const [name, { answer, reason }] of Object.entries(refusals)) {
    test(name, async () => {
      // The last connection is kept after a refusal; a reset on it is met with one more try at once.
      const { watched, starts } = await start([first, answer, answer, answer, resumed]);
      await watched.until(isResumed);
      expect(new Set(starts().slice(1))).toEqual(new Set(['watch 10']));
      expect(new Set(watched.troubles.map((trouble) => trouble.reason))).toEqual(new Set([reason]));
    });
  }

  test('after a 429, and not before the time that the server asked for', async () => {
    const busy = refusal(429, 'TooManyRequests', { 'retry-after': '9' });
    const absurd = refusal(429, 'TooManyRequests', { 'retry-after': '86400' });
    const { watched, waits } = await start([first, busy, absurd, resumed]);
    await watched.until(isResumed);
    expect(waits).toEqual([9_100, 60_200]);
  });

  test('and reports whether it is open: not while it is refused, listed or waiting', async () => {
    const reported: unknown[] = [];
    const noting =
      (answer: Answer, what: string): Answer =>
      (response, request) => {
        reported.push(what);
        answer(response, request);
      };
    const { watched } = await start(
      [
        noting(first, 'list'),
        noting(
          watch(news('z', 20), (response) => response.socket?.resetAndDestroy()),
          'cut',
        ),
        noting(refusal(410, 'Expired'), 'refused'),
        noting(list(20, { x: 5, z: 20 }), 'list'),
        noting(resumed, 'resumed'),
      ],
      { onOpen: (isOpen) => reported.push(isOpen) },
    );
    await watched.until(isResumed);
    await watched.reflector.close();
    expect(reported).toEqual(['list', 'cut', true, false, 'refused', 'list', 'resumed', true, false]);
  });

  test('from a bookmark, if no event has come', async () => {
    const { watched, starts } = await start([
      first,
      watch(bookmark(25), (response) => response.socket?.resetAndDestroy()),
      resumed,
    ]);
    await watched.until(isResumed);
    expect(starts()).toEqual(['list', 'watch 10', 'watch 25']);
    expect(watched.reflector.stats()).toMatchObject({ bookmarks: 1, events: 1, lists: 1, watches: 2 });
  });

  test('with events in pieces of any size', async () => {
    const text = Buffer.from(`${news('ü', 20)}${bookmark(21)}${news('y', 30)}`);
    const inBytes: Answer = watch('', (response) => {
      let at = 0;
      const next = (): void => {
        if (at < text.length) response.write(text.subarray(at, ++at), next);
      };
      next();
    });
    const { watched } = await start([first, inBytes]);
    await watched.until(isResumed);
    expect(watched.reported.slice(2)).toEqual(['upserted a/ü 20', 'upserted a/y 30']);
    expect(watched.troubles).toEqual([]);
  });
});

describe('everything is listed again, and the known state stays in use', () => {
  const second = list(40, { x: 5, y: 30 });
  const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' };
  const cases: Readonly<Record<string, { answer: Answer; reason: string }>> = {
    'after 410 as an event': { answer: watch(line('ERROR', expired)), reason: 'Expired' },
    'after 410 as an answer': { answer: refusal(410, 'Expired'), reason: 'Expired' },
    'after a line that is no JSON': {
      answer: watch('{"type":"ADDED","object":{hunter2\n'),
      reason: 'Garbled',
    },
    'after an event without an object': { answer: watch('{"type":"ADDED"}\n'), reason: 'Garbled' },
    'after an event of an unknown type': { answer: watch(line('MOVED', object('x', 20))), reason: 'Garbled' },
    'after a line that does not end': { answer: endless('hunter2').answer, reason: 'Garbled' },
    'after an event of the past': { answer: watch(news('x', 3)), reason: 'Stale' },
    'after a bookmark of the past': { answer: watch(bookmark(3)), reason: 'Stale' },
  };
  for (const [name, { answer, reason }] of Object.entries(cases)) {
    test(name, async () => {
      const sizes: number[] = [];
      const onTrouble = () => void sizes.push(-1);
      const { watched, starts } = await start(
        [first, answer, refusal(500, 'InternalError'), second, silence],
        {
          onTrouble,
          onEvent: () => void sizes.push(watched.reflector.store.size),
        },
      );
      await watched.until(({ reflector }) => reflector.stats().lists === 2);
      expect(starts().slice(0, 4)).toEqual(['list', 'watch 10', 'list', 'list']);
      expect(watched.troubles.map((trouble) => trouble.reason)).toEqual([reason, 'InternalError']);
      expect(watched.troubles.map(({ message }) => message).join()).not.toContain('hunter2');
      // x, which did not change, was never gone, and is not reported again.
      expect(watched.reported).toEqual(['upserted a/x 5', 'listed', 'upserted a/y 30', 'listed']);
      expect(sizes).toEqual([1, 1, -1, -1, 2, 2]);
    });
  }

  test('after a watch that was refused again and again: its version may be the reason', async () => {
    const { watched, starts } = await start([
      first,
      ...Array(5).fill(refusal(504, 'Timeout')),
      second,
      silence,
    ]);
    await watched.until(({ reflector }) => reflector.stats().lists === 2);
    expect(starts().slice(0, 7)).toEqual(['list', ...Array(5).fill('watch 10'), 'list']);
  });

  test('after a list that broke off between two pages, which deletes nothing', async () => {
    const page = (next: string, name: string, version: number): Answer =>
      json({ metadata: { resourceVersion: '40', continue: next }, items: [object(name, version)] });
    const { watched, starts } = await start([
      list(10, { x: 5, z: 6 }),
      watch(line('ERROR', expired)),
      page('next', 'x', 5),
      (response) => response.end('{"items": ['),
      page('again', 'x', 5),
      page('', 'y', 30),
      silence,
    ]);
    await watched.until(({ reflector }) => reflector.stats().lists === 2);
    expect(starts().slice(0, 6)).toEqual(['list', 'watch 10', 'list', 'list', 'list', 'list']);
    // That z is gone is known when a list has come to its end, and not before.
    expect(watched.reported).toEqual([
      'upserted a/x 5',
      'upserted a/z 6',
      'listed',
      'upserted a/y 30',
      'deleted a/z absent-after-relist',
      'listed',
    ]);
  });

  test('after its handler threw, with the event repeated', async () => {
    let isBroken = true;
    const { watched } = await start([first, watch(news('y', 30)), list(40, { x: 5, y: 30 }), silence], {
      onEvent(event) {
        if (event.type !== 'upserted' || event.key !== 'a/y' || !isBroken) return;
        isBroken = false;
        throw new Error('handler is broken');
      },
    });
    await watched.until(({ reflector }) => reflector.stats().lists === 2);
    expect(watched.reported).toEqual([
      'upserted a/x 5',
      'listed',
      'upserted a/y 30',
      'upserted a/y 30',
      'listed',
    ]);
    expect(watched.troubles[0]).toMatchObject({
      reason: 'HandlerFailed',
      message: expect.stringMatching(/broken/),
    });
  });
});

describe('a list', () => {
  test('that is refused with 429 is not repeated before its time', async () => {
    const busy = refusal(429, 'TooManyRequests', { 'retry-after': '9' });
    const expired = watch(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired' }));
    const { watched, starts, waits } = await start([busy, first, expired, busy, list(20, { x: 5 }), resumed]);
    await watched.until(isResumed);
    expect(starts()).toEqual(['list', 'list', 'watch 10', 'list', 'list', 'watch 20']);
    expect(waits).toEqual([9_400, 400, 9_400]);
  });

  test('that fails in any way is repeated until it succeeds', async () => {
    const failures: Answer[] = [
      reset,
      refusal(500, 'InternalError'),
      refusal(403, 'Forbidden'),
      json({ kind: 'Status' }),
      (response) => response.end('{"items": ['),
      watch('{"items": [', (response) => response.socket?.resetAndDestroy()),
    ];
    const { watched, waits } = await start([...failures, first, resumed]);
    await watched.reflector.synced;
    await watched.until(isResumed);
    expect(waits).toEqual([400, 800, 1_600, 3_200, 6_400, 12_800]);
  });

  test('in pages begins again when they expire', async () => {
    const page = (next: string, name: string): Answer =>
      json({ metadata: { resourceVersion: '10', continue: next }, items: [object(name, 5)] });
    const { server, watched } = await start([
      page('next-1', 'old'),
      refusal(410, 'Expired'),
      page('next-2', 'x'),
      page('', 'z'),
      resumed,
    ]);
    await watched.until(isResumed);
    const places = server.asked
      .slice(0, 4)
      .map((url) => new URL(url.slice(4), 'http://x').searchParams.get('continue'));
    expect(places).toEqual([null, 'next-1', null, 'next-2']);
    // What only the first try held had been reported, so it learns that it is gone.
    expect(watched.reported).toEqual([
      'upserted a/old 5',
      'upserted a/x 5',
      'upserted a/z 5',
      'deleted a/old absent-after-relist',
      'listed',
      'upserted a/y 30',
    ]);
  });
});

describe('time', () => {
  const startOnFake = async (answers: readonly Answer[]) => {
    const fake = makeFakeClock();
    const started = await start(answers, { clock: { ...fake, wallMs: fake.now }, idleMs: 70_000 });
    return { ...started, fake };
  };

  test('a watch that is silent for 70 s counts as broken, one with bookmarks does not', async () => {
    let say = (_text: string) => {};
    const talking = watch('', (response) => {
      say = (text) => void response.write(text);
    });
    const { watched, fake, starts } = await startOnFake([first, talking, resumed]);
    await arrived(() => watched.reflector.stats().watches === 1);
    for (let minute = 1; minute <= 5; minute += 1) {
      fake.advance(60_000);
      say(bookmark(10 + minute));
      await arrived(() => watched.reflector.stats().bookmarks === minute);
    }
    expect(watched.troubles).toEqual([]);
    fake.advance(69_999);
    expect(watched.troubles).toEqual([]);
    fake.advance(1);
    await watched.until(({ troubles }) => troubles.length === 1);
    expect(watched.troubles[0]).toMatchObject({ reason: 'Idle', retryInMs: 100 });
    await arrived(() => fake.pending().includes(fake.now() + 100));
    fake.advance(100);
    await watched.until(isResumed);
    expect(starts()).toEqual(['list', 'watch 10', 'watch 15']);
  });

  // The informer of client-node waits longer after each such end, up to 30 s in which it is blind.
  test('a watch that its server ends normally begins again at once, however often and however quiet', async () => {
    let end = () => {};
    const quiet = watch('', (response) => {
      end = () => void response.end();
    });
    const { watched, fake, starts } = await startOnFake([first, ...Array<Answer>(5).fill(quiet), resumed]);
    for (let time = 1; time <= 5; time += 1) {
      await arrived(() => watched.reflector.stats().watches === time);
      fake.advance(1_000);
      end();
    }
    await watched.until(isResumed);
    expect(starts()).toEqual(['list', ...Array(6).fill('watch 10')]);
    expect(watched.troubles).toEqual([]);
  });

  test('a server that is away for long is asked more and more rarely, in the end every ten seconds', async () => {
    const { watched, server, waits } = await start([first, watch(bookmark(11))]);
    await arrived(() => watched.reflector.stats().bookmarks === 1);
    await server.close();
    ends.shift();
    await watched.until(({ troubles }) => troubles.length === 10);
    expect(waits.slice(0, 9)).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
    expect(watched.reflector.store.size).toBe(1);
  });

  test('closing ends waits and watches at once, and reports to callers that wait for the first list', async () => {
    const { watched, fake } = await startOnFake([refusal(500, 'InternalError')]);
    await watched.until(({ troubles }) => troubles.length === 1);
    await watched.reflector.close();
    await expect(watched.reflector.synced).rejects.toThrow(/closed before its first list/);
    expect(fake.pending()).toEqual([]);
    const open = await startOnFake([first, silence]);
    await open.watched.reflector.synced;
    await open.watched.reflector.close();
    expect(open.fake.pending()).toEqual([]);
  });
});

/** Bytes need a moment in flight; they come by events of the loop. */
async function arrived(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
}
