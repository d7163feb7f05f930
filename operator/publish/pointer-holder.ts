// Which table is in the pointer, and did this leader write it? Every write names the resourceVersion that was read, so of two leaders
// one loses. The one that loses never writes again.

import { hash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { TableVersion } from '../../core/contract/exchange.ts';
import type { InternalTls } from '../../core/contract/internal-tls.ts';
import type { Manifest } from '../../core/contract/manifest.ts';
import { isConflict, isNotFound, KubeError } from '../../core/kube/client.ts';
import { canonicalJson } from '../canonical-json.ts';
import { DeposedError } from './deposed.ts';
import type { Pointer, TableStore } from './table-store.ts';

/** On the pointer, by a human: what is absent after a relist may leave the table, once. See `hold-absent.ts`. */
export const ACCEPT_ABSENCE_ANNOTATION = 'penstock.dev/accept-absence';

/** On the pointer, by a human: the table generation to go back to. The table stays there until the annotation is removed. */
export const PIN_ANNOTATION = 'penstock.dev/pin';

/** Set on the pointer by hand: lets an operator replace, once, a table that a newer operator wrote. */
export const ACCEPT_DOWNGRADE_ANNOTATION = 'penstock.dev/accept-downgrade';

/**
 * On the pointer, by a human: digests of retired keys, or their beginnings, that any namespace may have again, once. See
 * `retire-keys.ts`.
 */
export const RELEASE_KEY_ANNOTATION = 'penstock.dev/release-key';

interface PointerHolderOptions<Table> {
  readonly store: Pick<TableStore, 'readPointer' | 'createPointer' | 'updatePointer'>;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Its name in messages. */
  readonly place: string;
  readonly exchangeToken: string;
  /** What gateways are to be known by; given what the pointer has. */
  internalTls(found: InternalTls | undefined): InternalTls | undefined;
  /** As it was found; undefined if it did not exist. */
  readonly pointer: Pointer | undefined;
  /** What this leader knows of the table that was found. */
  readonly table: Table;
  /** No gateway can have seen a higher one. */
  readonly highest: TableVersion;
  /** Throws if leadership has ended. */
  mustStillLead(): void;
  onRecreated(): void;
  onAbsenceAccepted(): void;
  /** Keys are to be released. */
  onReleaseAsked(): void;
  /** The pin annotation was set, removed or changed. */
  onPinChanged(): void;
}

/** The manifest in the pointer, and its exact bytes. */
export interface Published<Table> {
  readonly manifest: Manifest;
  readonly text: string;
  readonly table: Table;
}

export interface PointerHolder<Table> {
  /** Undefined before the first table. */
  published(): Published<Table> | undefined;
  /** Writes a new table under the next number. Gives the bytes of its manifest. */
  publish(
    manifest: Omit<Manifest, 'epoch' | 'generation'>,
    table: Table,
    options?: { readonly endsAcceptance?: boolean },
  ): Promise<number>;
  /** Writes the same table again, with the heartbeat, and with the epoch if it is missing. */
  renew(): Promise<void>;
  /** The certificates that it hands to gateways and ledger now. */
  internalTls(): InternalTls | undefined;
  /** Replaces what is known of the table in the pointer. */
  know(table: Table): void;
  /** A gateway has a table of this number: what is written from now on has a higher one. False: it has so already. */
  outnumber(version: TableVersion): boolean;
  /** Reads it. False: it is gone. @throws {DeposedError} where another leader wrote it. */
  look(): Promise<boolean>;
  isAbsenceAccepted(): boolean;
  /** The value of the pin annotation; undefined without one. */
  pin(): string | undefined;
  /** The accepted absence is in use; the next write removes the annotation. */
  endAcceptance(): void;
  /** The value of the annotation that releases keys; undefined without one, and after the release. */
  release(): string | undefined;
  /** The release is done; the next write removes the annotation, unless its value has changed since. */
  endRelease(release: string): void;
  /**
   * The first epoch of the present numbering, which starts again when the pointer was deleted or a gateway had a higher number. The
   * generation of a table with a lower epoch cannot be compared. 0: the numbering was never restarted.
   */
  epochFloor(): number;
  /** Includes writes that may have failed: a number is never used for two tables. */
  highest(): TableVersion;
}

/** Other hands that touch labels of the pointer again and again are given that many chances. */
const CONFLICTS_MAX = 10;

export function holdPointer<Table>(options: PointerHolderOptions<Table>): PointerHolder<Table> {
  const { store, clock, place } = options;
  let pointer = options.pointer;
  let published = publishedOf(pointer, options.table);
  let highest = options.highest;
  /** The least numbers for the next write. Without a manifest they are the time, above all that ever was. */
  let least: TableVersion =
    published === undefined ? fromTime() : { epoch: highest.epoch + 1, generation: highest.generation };
  let epochFloor = published === undefined ? least.epoch : 0;
  /** Writes without an answer: each may stand in the pointer. By the hash of the manifest. */
  const unanswered = new Map<string, Published<Table>>();
  let acceptance: 'none' | 'asked' | 'over' = 'none';
  noteAcceptance();
  let release: string | undefined;
  let released: string | undefined;
  noteRelease();
  let pin = pinOf(pointer);

  return {
    published: () => published,
    publish: (manifest, table, { endsAcceptance = false } = {}) =>
      write(() => {
        const generation = Math.max(least.generation, highest.generation + 1);
        return inWords({ ...manifest, epoch: least.epoch, generation }, table);
      }, endsAcceptance),
    async renew() {
      if (published !== undefined) await write(renewed, false);
    },
    internalTls: () => pointer?.internalTls,
    know(table) {
      if (published !== undefined) published = { ...published, table };
    },
    outnumber(version) {
      // A write of this leader whose answer was lost, or that is in progress, belongs to this numbering.
      if (!isAbove(version, published?.manifest ?? highest) || !isAbove(version, highest)) return false;
      highest = higher(highest, version);
      least = { epoch: highest.epoch + 1, generation: highest.generation };
      epochFloor = least.epoch;
      return true;
    },
    look: async () => (await look()) !== undefined,
    isAbsenceAccepted: () => acceptance === 'asked',
    pin: () => pin,
    endAcceptance() {
      if (acceptance === 'asked') acceptance = 'over';
    },
    release: () => release,
    endRelease(done) {
      released = done;
      if (release === done) release = undefined;
    },
    epochFloor: () => epochFloor,
    highest: () => highest,
  };

  /** Canonical, so equal to the pointer byte for byte, unless it needs another number. */
  function renewed(): Published<Table> {
    if (published === undefined) throw new Error('there is no table to renew');
    const { manifest, table } = published;
    const generation = Math.max(manifest.generation, least.generation);
    return inWords({ ...manifest, epoch: least.epoch, generation }, table);
  }

  /**
   *   write ──► done
   *     ├─ 404, or 409 without a pointer ──► deleted by hand: created again, with a number above all earlier ones
   *     ├─ 409, the table is ours ────────► its labels were edited: write again on that version
   *     ├─ 409, the table is another's ───► deposed
   *     └─ else ──────────────────────────► throws; the write may have succeeded
   */
  async function write(build: () => Published<Table>, endsAcceptance: boolean): Promise<number> {
    for (let conflicts = 0; ; conflicts += 1) {
      options.mustStillLead();
      // Built for each try: numbers that were read since the last one raise it.
      const next = build();
      highest = higher(highest, next.manifest);
      const isRecreated = pointer === undefined && published !== undefined;
      try {
        pointer = await put(next.text, endsAcceptance || acceptance === 'over');
        published = next;
        unanswered.clear();
        noteAnnotations();
        if (isRecreated) options.onRecreated();
        return Buffer.byteLength(next.text);
      } catch (error) {
        if (mayHaveHappened(error)) unanswered.set(hash('sha256', next.text), next);
        const isGone = isNotFound(error) && pointer !== undefined;
        if ((!isGone && !isConflict(error)) || conflicts === CONFLICTS_MAX) throw error;
      }
      await look();
    }
  }

  function put(manifestText: string, withoutAcceptance: boolean): Promise<Pointer> {
    const heartbeat = new Date(clock.wallMs()).toISOString();
    const internalTls = options.internalTls(pointer?.internalTls);
    const data = { manifestText, heartbeat, exchangeToken: options.exchangeToken, internalTls };
    if (pointer === undefined) return store.createPointer(data);
    const {
      [ACCEPT_ABSENCE_ANNOTATION]: accepted,
      [ACCEPT_DOWNGRADE_ANNOTATION]: _,
      [RELEASE_KEY_ANNOTATION]: asked,
      ...others
    } = pointer.metadata.annotations ?? {};
    const annotations = {
      ...others,
      ...(accepted === undefined || withoutAcceptance ? {} : { [ACCEPT_ABSENCE_ANNOTATION]: accepted }),
      ...(asked === undefined || asked === released ? {} : { [RELEASE_KEY_ANNOTATION]: asked }),
    };
    return store.updatePointer({ ...pointer.metadata, annotations }, data);
  }

  async function look(): Promise<Pointer | undefined> {
    const found = await store.readPointer();
    if (found === undefined) {
      pointer = undefined;
      // Gateways keep the highest they have seen, and a deleted pointer must not lock them out.
      least = fromTime();
      epochFloor = least.epoch;
      return undefined;
    }
    const late =
      found.manifestText === undefined ? undefined : unanswered.get(hash('sha256', found.manifestText));
    // guard: pointer-lost
    if (late === undefined && !isAsLeft(found)) {
      throw new DeposedError(
        `${place} was written by another leader (${versionText(found)}); this one stops writing`,
      );
    }
    published = late ?? published;
    pointer = found;
    noteAnnotations();
    return found;
  }

  /** Other hands may have touched labels and annotations, but no leader the table. */
  function isAsLeft(found: Pointer): boolean {
    if (pointer === undefined) return false;
    if (found.manifestText === pointer.manifestText) return true;
    const left = published?.manifest;
    if (left === undefined || found.manifest.kind === 'unreadable') return false;
    const { epoch, generation } = found.manifest.manifest;
    return epoch === left.epoch && generation === left.generation;
  }

  function noteAnnotations(): void {
    noteAcceptance();
    noteRelease();
    const before = pin;
    pin = pinOf(pointer);
    if (pin !== before) options.onPinChanged();
  }

  function noteAcceptance(): void {
    const isAnnotated = pointer?.metadata.annotations?.[ACCEPT_ABSENCE_ANNOTATION] === 'true';
    if (!isAnnotated) acceptance = 'none';
    else if (acceptance === 'none') {
      acceptance = 'asked';
      options.onAbsenceAccepted();
    }
  }

  function noteRelease(): void {
    const asked = pointer?.metadata.annotations?.[RELEASE_KEY_ANNOTATION];
    // The same keys may be released again later.
    if (asked === undefined) released = undefined;
    const before = release;
    release = asked === released ? undefined : asked;
    if (release !== undefined && release !== before) options.onReleaseAsked();
  }

  function fromTime(): TableVersion {
    const wallMs = clock.wallMs();
    return {
      epoch: Math.max(wallMs, highest.epoch + 1),
      generation: Math.max(wallMs, highest.generation + 1),
    };
  }
}

function pinOf(pointer: Pointer | undefined): string | undefined {
  return pointer?.metadata.annotations?.[PIN_ANNOTATION];
}

function isAbove(a: TableVersion, b: TableVersion): boolean {
  return a.epoch > b.epoch || (a.epoch === b.epoch && a.generation > b.generation);
}

/** At least as high as both. */
export function higher(a: TableVersion, b: TableVersion | undefined): TableVersion {
  if (b === undefined) return a;
  return { epoch: Math.max(a.epoch, b.epoch), generation: Math.max(a.generation, b.generation) };
}

function publishedOf<Table>(pointer: Pointer | undefined, table: Table): Published<Table> | undefined {
  if (pointer?.manifest.kind !== 'readable' || pointer.manifestText === undefined) return undefined;
  return { manifest: pointer.manifest.manifest, text: pointer.manifestText, table };
}

function inWords<Table>(manifest: Manifest, table: Table): Published<Table> {
  return { manifest, text: canonicalJson(manifest), table };
}

/** No answer, or one that does not say what became of the write. */
function mayHaveHappened(error: unknown): boolean {
  return !(error instanceof KubeError) || error.status < 400 || error.status >= 500;
}

function versionText({ manifest }: Pointer): string {
  const version = manifest.kind === 'readable' ? manifest.manifest : manifest.version;
  if (version === undefined) return 'its manifest cannot be read';
  return `epoch ${version.epoch}, generation ${version.generation}`;
}
