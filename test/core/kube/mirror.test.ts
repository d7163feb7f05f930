// What a store of objects tells its handler, and what it does with a handler that fails.

import { describe, expect, test } from 'vitest';
import { makeMirror } from '../../../core/kube/mirror.ts';
import type { KubeObject } from '../../../core/kube/object.ts';

const make = (name: string, resourceVersion: number): KubeObject => ({
  metadata: { namespace: 'a', name, resourceVersion: String(resourceVersion) },
});

function makeReported(mayTake: (reported: string) => boolean = () => true) {
  const reported: string[] = [];
  const unreadable: string[] = [];
  const mirror = makeMirror<{ version: string }>({
    convert(object) {
      if (object.metadata.labels?.bad !== undefined) throw new Error('cannot be read');
      return { version: String(object.metadata.resourceVersion) };
    },
    onEvent(event) {
      const text =
        event.type === 'listed'
          ? 'listed'
          : event.type === 'deleted'
            ? `deleted ${event.key} ${event.object.version} ${event.cause}`
            : `upserted ${event.key} ${event.previous?.version ?? '-'}>${event.object.version}`;
      if (!mayTake(text)) throw new Error('no');
      reported.push(text);
    },
    onUnreadable: (key) => unreadable.push(key),
  });
  const relist = (...objects: KubeObject[]) => {
    mirror.beginList();
    for (const each of objects) mirror.addListed(each);
    mirror.endList();
  };
  return { reported, unreadable, mirror, relist };
}

describe('a relist', () => {
  test('reports only differences, and absence is no deletion event', () => {
    const { reported, mirror, relist } = makeReported();
    relist(make('same', 1), make('changed', 2), make('gone', 3));
    const same = mirror.store.get('a/same');
    reported.length = 0;
    relist(make('same', 1), make('changed', 5), make('new', 6));
    expect(reported).toEqual([
      'upserted a/changed 2>5',
      'upserted a/new ->6',
      'deleted a/gone 3 absent-after-relist',
      'listed',
    ]);
    expect(mirror.store.get('a/same')).toBe(same);
  });

  test('that began and did not end deletes nothing', () => {
    const { mirror, relist } = makeReported();
    relist(make('x', 1), make('y', 2));
    mirror.beginList();
    mirror.addListed(make('y', 2));
    mirror.beginList();
    expect([...mirror.store.keys()]).toEqual(['a/x', 'a/y']);
    mirror.addListed(make('x', 1));
    mirror.endList();
    expect([...mirror.store.keys()]).toEqual(['a/x']);
  });

  test('of a server restored from a backup is accepted', () => {
    const { reported, relist } = makeReported();
    relist(make('x', 90));
    relist(make('x', 40));
    expect(reported).toContain('upserted a/x 90>40');
  });
});

test('an older state never replaces or deletes a newer one', () => {
  const { reported, mirror } = makeReported();
  mirror.upsert(make('x', 10));
  mirror.upsert(make('x', 9));
  mirror.remove(make('x', 9));
  mirror.upsert(make('x', 10));
  expect(reported).toEqual(['upserted a/x ->10']);
  expect(mirror.store.get('a/x')).toEqual({ version: '10' });
});

describe('a handler that throws', () => {
  test('gets the event again with the next list, and others get theirs', () => {
    let isBroken = true;
    const { reported, mirror, relist } = makeReported((text) => !(isBroken && text.includes('a/x')));
    relist(make('x', 1), make('y', 2));
    expect(reported).toEqual(['upserted a/y ->2', 'listed']);
    expect(mirror.takeFailure()).toBeDefined();
    expect(mirror.takeFailure()).toBeUndefined();
    isBroken = false;
    relist(make('x', 1), make('y', 2));
    expect(reported.slice(2)).toEqual(['upserted a/x 1>1', 'listed']);
  });

  test('gets a failed deletion again at the next list, with the same cause', () => {
    let isBroken = false;
    const { reported, mirror, relist } = makeReported(() => !isBroken);
    relist(make('x', 1), make('y', 2));
    isBroken = true;
    mirror.remove(make('x', 3));
    isBroken = false;
    reported.length = 0;
    relist(make('y', 2));
    expect(reported).toEqual(['deleted a/x 1 seen', 'listed']);
    reported.length = 0;
    relist(make('y', 2));
    expect(reported).toEqual(['listed']);
  });

  test('gets no deletion that it missed if the object exists again', () => {
    let isBroken = false;
    const { reported, mirror, relist } = makeReported(() => !isBroken);
    relist(make('x', 1));
    isBroken = true;
    mirror.remove(make('x', 3));
    isBroken = false;
    reported.length = 0;
    relist(make('x', 7));
    expect(reported).toEqual(['upserted a/x 1>7', 'listed']);
  });
});

test('an object that cannot be read keeps its last state and does not count as absent', () => {
  const { reported, unreadable, mirror, relist } = makeReported();
  relist(make('x', 1));
  const bad = { metadata: { ...make('x', 2).metadata, labels: { bad: '' } } };
  mirror.upsert(bad);
  relist(bad);
  expect(unreadable).toEqual(['a/x', 'a/x']);
  expect(mirror.store.get('a/x')).toEqual({ version: '1' });
  expect(reported.filter((text) => text.startsWith('deleted'))).toEqual([]);
});
