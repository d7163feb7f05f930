// Which ApiKeys can this person see? Read in pages with the person's own token, and kept while the person pages through them: never for
// another person, and never more than a fixed number of rows in all.

import { hash } from 'node:crypto';
import { z } from 'zod';
import { makeGate } from '../../core/kube/gate.ts';
import { isRecord } from '../../core/kube/object.ts';
import { type ClusterChange, type ClusterEvent, ClusterRefusal } from '../cluster.ts';
import type { ServerParts } from '../door.ts';
import { GROUP_VERSION, PAGE_MAX } from '../guard/kube-paths.ts';
import type { Session } from '../session/session.ts';
import type { ListedKey } from './choose-rows.ts';
import { type KeySpend, keyRowOf } from './key-row.ts';
import { readSpends } from './spends.ts';
import { wordsOfKey } from './words-of-key.ts';

interface KeyList {
  readonly keys: readonly ListedKey[];
  readonly at: string;
  readonly resourceVersion: number;
  readonly spendFrom: 'ledger' | 'status';
  readonly isTruncated: boolean;
}

type Whose = Pick<Session, 'id' | 'token'>;

export interface KeyLists {
  /** @param namespace undefined: all. @throws {ClusterRefusal} {ClusterAway} */
  read(session: Whose, namespace: string | undefined): Promise<KeyList>;
  /** The version of the kept list, after it has been read; undefined without one. */
  position(session: Whose, namespace: string | undefined): Promise<string | undefined>;
  /** What their watch has reported. */
  change(session: Whose, namespace: string | undefined, event: ClusterEvent): void;
  /** Whatever was kept for them. */
  forget(session: Whose): void;
}

const keptMs = 10_000;
/** After this the next list is read in the background, so that paging does not wait for ten thousand keys every ten seconds. */
const oldMs = 5_000;
/** Of all lists together. */
const keptRowsMax = 60_000;
const rowsMax = 50_000;
/** Lists that are read at once: each may be as long as the longest. */
const readsAtOnce = 4;
/** Pages of each list that wait for the ledger unparsed, which are far larger than their rows. */
const pagesWaiting = 4;
const never = new AbortController().signal;

const pageSchema = z.object({
  metadata: z.object({ continue: z.string().optional(), resourceVersion: z.string().default('') }),
  items: z.array(z.unknown()).nullish(),
});

interface Kept {
  readonly person: string;
  readonly reading: Promise<Read>;
  rows: number;
  oldAtMs: number;
  /** Takes its place. */
  next: Kept | undefined;
}

interface Read {
  readonly keys: Map<string, ListedKey>;
  readonly spends: ReadonlyMap<string, KeySpend> | undefined;
  readonly at: string;
  /** Rises with each event of the watch. */
  resourceVersion: number;
  /** The list lacks changes that the watch does not report: only requests that already wait for it get it. */
  isOver: boolean;
  readonly isTruncated: boolean;
}

export function openKeyLists(parts: Pick<ServerParts, 'clock' | 'clusterOf' | 'ledger'>): KeyLists {
  const { clock } = parts;
  const gate = makeGate(readsAtOnce);
  const lists = new Map<string, Kept>();

  /** @param spending Is read at the same time: both take long with many keys. Its reader gets its failure. */
  async function readKeys(session: Whose, namespace: string | undefined, spending: Promise<Read['spends']>) {
    const place = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const keys = new Map<string, ListedKey>();
    const addRows = (items: readonly unknown[], spends: Read['spends']): void => {
      for (const item of items) {
        const row = keyRowOf(item, spends, clock.wallMs());
        if (row !== undefined) keys.set(`${row.namespace}/${row.name}`, { row, words: wordsOfKey(item) });
      }
    };
    const adding: Promise<void>[] = [];
    let count = 0;
    let resourceVersion = 0;
    let position: string | undefined;
    do {
      const answer = await parts.clusterOf(session).call({
        method: 'GET',
        path: `${GROUP_VERSION}${place}/apikeys`,
        query: { limit: String(PAGE_MAX), continue: position },
      });
      const page = pageSchema.safeParse(answer.body).data;
      if (answer.status !== 200 || page === undefined) throw new ClusterRefusal(answer);
      const items = page.items ?? [];
      // While the next page is read.
      adding.push(
        spending.then(
          (spends) => addRows(items, spends),
          () => {},
        ),
      );
      if (adding.length >= pagesWaiting) await adding[0];
      // All pages are of the moment of the first one.
      resourceVersion ||= Number(page.metadata.resourceVersion) || 0;
      position = page.metadata.continue || undefined;
      count += items.length;
    } while (position !== undefined && count < rowsMax);
    await Promise.all(adding);
    return { keys, resourceVersion, isTruncated: position !== undefined };
  }

  async function readAll(session: Whose, namespace: string | undefined): Promise<Read> {
    const at = new Date(clock.wallMs()).toISOString();
    const spending = readSpends(parts, session.token, namespace);
    const [spends, keys] = await Promise.all([spending, readKeys(session, namespace, spending)]);
    return { at, spends, isOver: false, ...keys };
  }

  function makeRoom(): void {
    let sum = 0;
    for (const { rows } of lists.values()) sum += rows;
    // The oldest first: a Map keeps the order in which things were put in.
    for (const [key, { rows }] of lists) {
      if (sum <= keptRowsMax) return;
      lists.delete(key);
      sum -= rows;
    }
  }

  /**
   * Whatever is in the map may be shown: an entry is removed when its time is over.
   *
   * @param before Is shown until this one has been read.
   */
  function begin(key: string, session: Whose, namespace: string | undefined, before?: Kept): Kept {
    // Without a caller's signal: several requests may wait for it, and the first of them may be cancelled.
    const reading = gate.pass(never, () => readAll(session, namespace));
    const kept: Kept = {
      person: personOf(session),
      reading,
      rows: 0,
      oldAtMs: Number.POSITIVE_INFINITY,
      next: undefined,
    };
    if (before === undefined) lists.set(key, kept);
    else before.next = kept;
    reading.then(
      ({ keys }) => {
        kept.rows = keys.size;
        kept.oldAtMs = clock.now() + oldMs;
        if (before !== undefined) replace(key, before, kept);
        clock.setTimer(keptMs, () => replace(key, kept, kept.next));
        makeRoom();
      },
      // The next request asks again, and gets the reason.
      () => {
        replace(key, before ?? kept, undefined);
        replace(key, kept, undefined);
      },
    );
    return kept;
  }

  function replace(key: string, kept: Kept, next: Kept | undefined): void {
    if (lists.get(key) !== kept) return;
    lists.delete(key);
    if (next !== undefined) lists.set(key, next);
  }

  function tell(kept: Kept, { type, object }: ClusterChange): void {
    kept.reading.then(
      (read) => {
        const { keys, spends } = read;
        const row = keyRowOf(object, spends, clock.wallMs());
        const version = versionOf(object);
        // A late event is in a later list already.
        if (row === undefined || version < read.resourceVersion || read.isOver) return;
        read.resourceVersion = version;
        const name = `${row.namespace}/${row.name}`;
        if (type === 'DELETED') keys.delete(name);
        else keys.set(name, { row, words: wordsOfKey(object) });
        kept.rows = keys.size;
      },
      () => {},
    );
  }

  /** A watch does not report what changed between the list and the watch's start, so such a list is replaced. */
  function release(key: string, kept: Kept, version: number): void {
    kept.reading.then(
      (read) => {
        if (read.resourceVersion >= version) return;
        read.isOver = true;
        replace(key, kept, kept.next);
      },
      () => {},
    );
  }

  return {
    async position(session, namespace) {
      const kept = lists.get(keyOf(session, namespace));
      const read = await kept?.reading.catch(() => undefined);
      return read?.resourceVersion ? String(read.resourceVersion) : undefined;
    },
    async read(session, namespace) {
      const key = keyOf(session, namespace);
      const kept = lists.get(key) ?? begin(key, session, namespace);
      if (kept.next === undefined && clock.now() >= kept.oldAtMs) begin(key, session, namespace, kept);
      const { keys, spends, at, resourceVersion, isTruncated } = await kept.reading;
      return {
        keys: [...keys.values()],
        at,
        resourceVersion,
        spendFrom: spends === undefined ? 'status' : 'ledger',
        isTruncated,
      };
    },
    change(session, namespace, event) {
      const key = keyOf(session, namespace);
      for (let kept = lists.get(key); kept; kept = kept.next) {
        if (event.type === 'RESET') release(key, kept, Number(event.resourceVersion));
        else tell(kept, event);
      }
    },
    forget(session) {
      const person = personOf(session);
      for (const [key, kept] of lists) if (kept.person === person) lists.delete(key);
    },
  };
}

/** Kubernetes' versions are growing numbers. */
function versionOf({ metadata }: ClusterChange['object']): number {
  return Number(isRecord(metadata) ? metadata.resourceVersion : 0) || 0;
}

/** Of the map. */
const keyOf = (session: Whose, namespace: string | undefined): string =>
  `${personOf(session)} ${namespace ?? ''}`;

/** Not the token itself, so that it stays in memory for no longer than it is needed; of the token, as that is what Kubernetes judges. */
function personOf({ token }: Whose): string {
  return hash('sha256', token, 'base64url');
}
