// Three watches tell of the same Secrets, each at its own pace. Is every Secret known for what it is, and none
// lost in flight from one to another?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../core/kube/object.ts';
import {
  createSecretIndex,
  readPlace,
  readSecret,
  type SecretView,
} from '../../../operator/watch/secrets.ts';

const key = 'team-a/openai';

interface State {
  readonly isShared: boolean;
  readonly isIssued: boolean;
  readonly value: string;
}

function secretOf({ isShared, isIssued, value }: State): KubeObject {
  const labels = {
    ...(isShared ? { 'penstock.dev/provider-credential': 'true' } : {}),
    ...(isIssued ? { 'penstock.dev/api-key': 'bot' } : {}),
  };
  const data = { key: Buffer.from(value).toString('base64') };
  return { metadata: { namespace: 'team-a', name: 'openai', labels }, type: 'Opaque', data };
}

/** What a watch with the selector of a view would hold of it. */
function viewOf(state: State): SecretView | undefined {
  if (state.isShared) return 'credentials';
  return state.isIssued ? 'issued' : undefined;
}

type Index = ReturnType<typeof createSecretIndex>;

const shared: State = { isShared: true, isIssued: false, value: 'sk-1' };
const issued: State = { isShared: false, isIssued: true, value: 'psk-1' };
const foreign: State = { isShared: false, isIssued: false, value: 'private' };

/** One thing that one of the watches has to say. */
function place(index: Index, state: State | undefined) {
  return state === undefined ? index.displaced(key) : index.placed(key, readPlace(secretOf(state)));
}
function value(index: Index, view: SecretView, state: State) {
  return index.valued(view, key, readSecret(secretOf(state)));
}

describe('the known part of a Secret', () => {
  test('is all of it, decoded, if it is shared with Providers', () => {
    const index = createSecretIndex();
    expect(value(index, 'credentials', shared)).toBe('none');
    expect(place(index, shared)).toBe('edit');
    expect(index.records.get(key)).toEqual({
      namespace: 'team-a',
      name: 'openai',
      labels: { 'penstock.dev/provider-credential': 'true' },
      annotations: {},
      type: 'Opaque',
      data: { key: 'sk-1' },
    });
  });

  test('is its existence if it is not labelled', () => {
    const index = createSecretIndex();
    const object = secretOf(foreign);
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"cHJpdmF0ZQ=="}' };
    index.placed(key, readPlace({ ...object, metadata: { ...object.metadata, annotations } }));
    expect(index.records.get(key)).toEqual({
      namespace: 'team-a',
      name: 'openai',
      labels: {},
      annotations: {},
      type: 'Opaque',
      data: {},
    });
  });

  test('does not include the copy that kubectl apply leaves in an annotation', () => {
    const object = secretOf(shared);
    const annotations = {
      'penstock.dev/allowed-hosts': 'api.example',
      'kubectl.kubernetes.io/last-applied-configuration': '{"data":"c2stMQ=="}',
    };
    const record = readSecret({ ...object, metadata: { ...object.metadata, annotations } });
    expect(record.annotations).toEqual({ 'penstock.dev/allowed-hosts': 'api.example' });
  });

  test('has bytes that are no text as a value that no check accepts', () => {
    const record = readSecret({
      ...secretOf(shared),
      data: { key: Buffer.from([0x73, 0xff]).toString('base64') },
    });
    expect(record.data.key).toBe('s\ufffd');
  });

  test('has a key of any name as data', () => {
    const record = readSecret({ ...secretOf(shared), data: JSON.parse('{"__proto__":"eA=="}') });
    expect(Object.hasOwn(record.data, '__proto__')).toBe(true);
  });
});

describe('changes', () => {
  function settled(state: State): Index {
    const index = createSecretIndex();
    const view = viewOf(state);
    if (view !== undefined) value(index, view, state);
    place(index, state);
    return index;
  }

  test('a new value is reported as a withdrawal', () => {
    const index = settled(shared);
    expect(value(index, 'credentials', { ...shared, value: 'sk-2' })).toBe('revocation');
  });

  test('a Secret that was written again without a change stays the same', () => {
    const index = settled(shared);
    const before = index.records.get(key);
    expect(value(index, 'credentials', shared)).toBe('none');
    expect(place(index, shared)).toBe('none');
    expect(index.records.get(key)).toBe(before);
  });

  test('an unlabelled Secret changes nothing, whatever is written to it', () => {
    const index = settled(foreign);
    const before = index.records.get(key);
    expect(place(index, foreign)).toBe('none');
    expect(index.records.get(key)).toBe(before);
  });

  test('a deleted Secret is reported as withdrawn, whichever watch sees it first', () => {
    const first = settled(shared);
    expect(place(first, undefined)).toBe('revocation');
    expect(first.unvalued('credentials', key)).toBe('none');
    const second = settled(shared);
    expect(second.unvalued('credentials', key)).toBe('none');
    expect(place(second, undefined)).toBe('revocation');
    expect(second.records.size + first.records.size).toBe(0);
  });

  test('a Secret without its label has no known value', () => {
    const index = settled(shared);
    expect(place(index, foreign)).toBe('revocation');
    expect(index.records.get(key)?.data).toEqual({});
  });

  test('a newly shared Secret stays unchanged until its value arrives', () => {
    const index = settled(foreign);
    const before = index.records.get(key);
    expect(place(index, shared)).toBe('none');
    expect(index.records.get(key)).toBe(before);
    expect(value(index, 'credentials', shared)).toBe('edit');
  });

  describe('a Secret with a key that was made here', () => {
    const both: State = { isShared: true, isIssued: true, value: 'psk-1' };
    const read = (state: State) => readSecret(secretOf(state));

    test('can be overwritten while it is shared too, on the version that was read', () => {
      const index = createSecretIndex();
      place(index, both);
      expect(index.issued(key)).toBeUndefined();
      index.valued('credentials', key, read(both), '7');
      expect(index.issued(key)).toEqual({ record: read(both), resourceVersion: '7' });
      index.valued('credentials', key, read(both), '8');
      expect(index.issued(key)?.resourceVersion).toBe('8');
      index.displaced(key);
      expect(index.issued(key)).toBeUndefined();
    });

    test('has the version of the view that its record comes from, shared or not', () => {
      const index = createSecretIndex();
      place(index, issued);
      index.valued('issued', key, read(issued), '1');
      place(index, both);
      index.valued('credentials', key, read(both), '2');
      expect(index.issued(key)).toEqual({ record: read(both), resourceVersion: '2' });
      index.unvalued('issued', key);
      expect(index.issued(key)?.resourceVersion).toBe('2');
      place(index, issued);
      index.valued('issued', key, read(issued), '3');
      index.unvalued('credentials', key);
      expect(index.issued(key)).toEqual({ record: read(issued), resourceVersion: '3' });
    });

    test('is only a shared one once its label is removed', () => {
      const index = createSecretIndex();
      place(index, both);
      index.valued('credentials', key, read(both), '2');
      index.valued('credentials', key, read(shared), '3');
      expect(index.issued(key)).toBeUndefined();
    });
  });

  test('a Secret that changes between our two kinds keeps its value throughout', () => {
    const both: State = { isShared: true, isIssued: true, value: 'psk-1' };
    const index = settled(both);
    index.unvalued('credentials', key);
    expect(index.records.get(key)?.data).toEqual({ key: 'psk-1' });
    place(index, issued);
    expect(index.records.get(key)?.data).toEqual({ key: 'psk-1' });
    value(index, 'issued', issued);
    expect(index.records.get(key)?.labels).toEqual({ 'penstock.dev/api-key': 'bot' });
  });
});

// A Secret lives through a history of label flips and new values; each of the three watches delivers its part of
// that history in order, but nobody says how far one is ahead of another. A gap between two views, an event that
// comes late and puts an old record over a new one: each would show as a missing or a wrong record here.
test('an existing Secret is never missing, whichever of the three watches is ahead', () => {
  const state = fc.record({
    isShared: fc.boolean(),
    isIssued: fc.boolean(),
    value: fc.constantFrom('one', 'two', 'three'),
  });
  const history = fc.array(state, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(history, fc.infiniteStream(fc.nat(2)), (states, turns) => {
      const index = createSecretIndex();
      const lines = [
        states.map((state) => () => void place(index, state)),
        deliveries(index, 'credentials', states),
        deliveries(index, 'issued', states),
      ];
      let wasThere = false;
      for (const turn of turns) {
        if (lines.every((line) => line.length === 0)) break;
        lines[turn]?.shift()?.();
        const isThere = index.records.has(key);
        expect(wasThere && !isThere).toBe(false);
        wasThere = isThere;
      }
      const last = states.at(-1);
      const data = last === undefined || viewOf(last) === undefined ? {} : { key: last.value };
      expect(index.records.get(key)?.data).toEqual(data);
    }),
  );
});

function deliveries(index: Index, view: SecretView, states: readonly State[]): (() => void)[] {
  return states.flatMap((state, at) => {
    if (viewOf(state) === view) return [() => void value(index, view, state)];
    const before = states[at - 1];
    const wasIn = before !== undefined && viewOf(before) === view;
    return wasIn ? [() => void index.unvalued(view, key)] : [];
  });
}
