// Contents of the ConfigMaps that Providers name. The metadata of all are watched; the few named ones are read one by one, each time
// their version changes.

import type { Clock } from '../../core/clock.ts';
import { isNotFound, type KubeClient, KubeError } from '../../core/kube/client.ts';
import { isRecord, parseObject } from '../../core/kube/object.ts';
import { configMaps, objectPath } from '../../core/kube/paths.ts';
import type { Trouble } from '../../core/kube/watch.ts';
import { createQueue } from '../loop.ts';
import { sameTexts } from './metadata-texts.ts';
import type { ConfigMapRecord, RawObject } from './snapshot.ts';

interface ConfigMapReaderParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 up to 1. */
  random(): number;
  /** The content of a ConfigMap has changed, or is known to be missing. */
  onChange(key: string): void;
  onTrouble(trouble: Trouble): void;
}

/** Keys are `namespace/name`. */
interface ConfigMapReader {
  /** The named ConfigMaps. Identities last while the contents do. */
  readonly records: ReadonlyMap<string, ConfigMapRecord>;
  placed(key: string, version: string): void;
  displaced(key: string): void;
  /** Which one an object names; undefined: none. */
  want(owner: string, key: string | undefined): void;
  /** The ConfigMap exists, and has not been read yet. */
  isPending(key: string): boolean;
  /** Once nothing is pending. */
  settled(): Promise<void>;
  close(): void;
}

const workers = 8;
const retryMsMax = 30_000;
const timeoutMs = 10_000;

interface Wanted {
  readonly owners: Set<string>;
  /** resourceVersion of what was read last; undefined: nothing. */
  readVersion: string | undefined;
  /** The API server says that we may not read it, or that it is gone. */
  isOutOfReach: boolean;
}

export function createConfigMapReader(parts: ConfigMapReaderParts): ConfigMapReader {
  const { client, clock, random, onChange, onTrouble } = parts;
  const places = new Map<string, string>();
  const wanted = new Map<string, Wanted>();
  const namedBy = new Map<string, string>();
  const records = new Map<string, ConfigMapRecord>();
  const ending = new AbortController();
  let waiting: (() => void)[] = [];
  const queue = createQueue({
    name: 'configmap',
    workers,
    backoffMaxMs: retryMsMax,
    clock,
    random,
    run: read,
    onError: failed,
  });

  return {
    records,
    placed(key, version) {
      places.set(key, version);
      if (wanted.has(key)) queue.add(key);
    },
    displaced(key) {
      places.delete(key);
      const want = wanted.get(key);
      if (want !== undefined) Object.assign(want, { readVersion: undefined, isOutOfReach: false });
      if (records.delete(key) || want !== undefined) changed(key);
    },
    want(owner, key) {
      const before = namedBy.get(owner);
      if (before === key) return;
      if (before !== undefined) release(owner, before);
      if (key === undefined) namedBy.delete(owner);
      else {
        namedBy.set(owner, key);
        const want = wanted.get(key) ?? newWant();
        want.owners.add(owner);
        wanted.set(key, want);
        queue.add(key);
      }
    },
    isPending,
    async settled() {
      while ([...wanted.keys()].some(isPending) && !ending.signal.aborted) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    close() {
      ending.abort();
      void queue.close();
      wake();
    },
  };

  function isPending(key: string): boolean {
    const want = wanted.get(key);
    return want !== undefined && places.has(key) && !records.has(key) && !want.isOutOfReach;
  }

  function release(owner: string, key: string): void {
    const want = wanted.get(key);
    want?.owners.delete(owner);
    if (want === undefined || want.owners.size > 0) return;
    queue.forget(key);
    wanted.delete(key);
    if (records.delete(key)) changed(key);
    else wake();
  }

  async function read(key: string): Promise<void> {
    const want = wanted.get(key);
    const version = places.get(key);
    if (want === undefined || version === undefined || want.readVersion === version) return;
    const [namespace = '', name = ''] = key.split('/');
    try {
      const path = objectPath(configMaps, { namespace, name });
      const { metadata, data } = parseObject(
        await client.call({ method: 'GET', path, timeoutMs, signal: ending.signal }),
      );
      // It may have been deleted, or is no longer named. If it returns, the watch reports it.
      if (wanted.get(key) !== want || !places.has(key)) return;
      Object.assign(want, { readVersion: metadata.resourceVersion, isOutOfReach: false });
      keep(key, { namespace, name, data: textsOf(data) });
    } catch (error) {
      if (ending.signal.aborted) return;
      if (!isNotFound(error)) throw error;
      // The watch has not reported its deletion yet; the last value is used until then.
      want.isOutOfReach = true;
      changed(key);
    }
  }

  function failed(key: string, error: unknown, retryInMs: number): void {
    const reason = error instanceof KubeError ? error.reason : 'Unreadable';
    const message = error instanceof Error ? error.message : String(error);
    onTrouble({ reason, message, retryInMs });
    const want = wanted.get(key);
    if (reason !== 'Forbidden' || want === undefined || want.isOutOfReach) return;
    want.isOutOfReach = true;
    changed(key);
  }

  function keep(key: string, record: ConfigMapRecord): void {
    const known = records.get(key);
    if (known !== undefined && sameTexts(known.data, record.data)) return;
    records.set(key, record);
    changed(key);
  }

  function changed(key: string): void {
    wake();
    onChange(key);
  }

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  }
}

function newWant(): Wanted {
  return {
    owners: new Set(),
    readVersion: undefined,
    isOutOfReach: false,
  };
}

/** `binaryData` holds no PEM. */
function textsOf(data: unknown): Readonly<Record<string, string>> {
  if (!isRecord(data)) return {};
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

/** The ConfigMap that a Provider names, `namespace/name`; unchecked, as the compile will find it. */
export function configMapNamedBy({ metadata, spec }: RawObject): string | undefined {
  const tls = isRecord(spec) ? spec.tls : undefined;
  const ref = isRecord(tls) ? tls.caRef : undefined;
  if (!isRecord(ref) || typeof ref.name !== 'string' || ref.name === '') return undefined;
  return (ref.kind ?? 'ConfigMap') === 'ConfigMap' ? `${metadata.namespace}/${ref.name}` : undefined;
}
