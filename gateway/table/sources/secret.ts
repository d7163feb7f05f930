// A table in Secrets: one pointer is watched, and shards that it names and that are not held yet are fetched.
// Only a complete, verified table comes into use; after any fault, the last good one stays, and the fault is reported.
//
//   pointer event --newer--> wanted --random wait--> collect shards --> assemble --> offer --> copy
//                              ^                          | a fault
//                              +---- backoff, or the next pointer event

import type { Clock } from '../../../core/clock.ts';
import type { InternalTls, KeyPair } from '../../../core/contract/internal-tls.ts';
import type { Manifest } from '../../../core/contract/manifest.ts';
import type { KubeClient } from '../../../core/kube/client.ts';
import { collectionPath, objectPath, secrets } from '../../../core/kube/paths.ts';
import { type Reflector, type ReflectorEvent, startReflector } from '../../../core/kube/watch.ts';
import type { TableHolder } from '../holder.ts';
import { asLoadError, TableLoadError } from '../load-error.ts';
import { withoutKeys } from '../revocations.ts';
import { compareVersions, describeVersion } from '../version.ts';
import type { TableView } from '../view.ts';
import { assembleView, hasSameContent, type WholeTable } from './assemble.ts';
import { TableCopy } from './copy.ts';
import { fetchShard } from './fetch-shard.ts';
import { type Pointer, parseManifest, readPointer } from './pointer.ts';
import { ShardShelf } from './shelf.ts';
import type { SourceReport, TableSource } from './source.ts';
import { type LoadWork, systemWork } from './work.ts';

interface SecretSourceOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number;
  readonly pointer: { readonly namespace: string; readonly name: string };
  /** Folder of the pod's own copy; without it nothing is written. */
  readonly copyFolder?: string | undefined;
  /** The machine's where left out. */
  readonly work?: LoadWork;
  readonly holder: TableHolder;
  readonly report: SecretSourceReport;
}

export interface SecretSourceReport extends SourceReport {
  /** What a pointer brings that operator and ledger are to be shown; mostly the same as before. */
  certified?(pair: KeyPair): void;
  /** Worth a line in the log; the table in use is what it was. */
  noted(message: string): void;
}

export interface SecretSource extends TableSource {
  /** The bearer of the exchange; undefined until the pointer has been read. */
  exchangeToken(): string | undefined;
  /** As the pointer has it; undefined: operator and ledger are called in plain HTTP. */
  internalTls(): InternalTls | undefined;
  /** Unix milliseconds of the operator's newest heartbeat; undefined if none is known. */
  heartbeatMs(): number | undefined;
  close(): Promise<void>;
}

/** Pods do not ask for a new shard all at the same moment. */
const spreadMs = 200;
/** How long the API server may take before the copy is served from. */
const copyAfterMs = 1_500;
/** Three heartbeats that did not come: the connection may be dead. */
const idleMs = 30_000;
const backoff = { firstMs: 500, maxMs: 30_000 } as const;

export function openSecretSource(options: SecretSourceOptions): SecretSource {
  return new WatchedPointer(options);
}

class WatchedPointer implements SecretSource {
  readonly started: Promise<void>;
  private readonly options: SecretSourceOptions;
  private readonly work: LoadWork;
  private readonly settle: () => void;
  private readonly shelf = new ShardShelf();
  private readonly copy: TableCopy | undefined;
  private readonly closing = new AbortController();
  private readonly reflector: Reflector<Pointer>;
  private readonly cancelCopyTimer: () => void;
  private pointer: Pointer | undefined;
  private token: string | undefined;
  private whole: WholeTable | undefined;
  /** Newer than the one in use, and not loaded yet. */
  private wanted: Manifest | undefined;
  /** The newest that the pointer named: what it revokes is revoked, loaded or not. */
  private announced: Manifest | undefined;
  private isUrgent = false;
  private isBackingOff = false;
  private loading: Promise<void> | undefined;
  private cutWaitShort: (() => void) | undefined;
  private copying: Promise<void> | undefined;
  private isInTrouble = false;

  constructor(options: SecretSourceOptions) {
    this.options = options;
    this.work = options.work ?? systemWork;
    const { clock, client, random, pointer, copyFolder, report } = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.started = promise;
    this.settle = resolve;
    if (copyFolder !== undefined) {
      const onFailure = (message: string): void =>
        report.noted(`the copy of the table could not be written: ${message}`);
      this.copy = new TableCopy(copyFolder, onFailure, this.work.files);
    }
    this.cancelCopyTimer = clock.setTimer(copyAfterMs, () => this.startFromCopy());
    this.reflector = startReflector<Pointer>({
      client,
      clock,
      random,
      path: collectionPath(secrets, pointer.namespace),
      query: { fieldSelector: `metadata.name=${pointer.name}` },
      convert: readPointer,
      onEvent: (event) => this.onEvent(event),
      onTrouble: ({ message }) => {
        // Once: how long it lasts is for a metric to say.
        if (!this.isInTrouble) this.note(`the pointer cannot be watched: ${message}; it is tried again`);
        this.isInTrouble = true;
        this.startFromCopy();
      },
      idleMs,
    });
    // Closed before the first list: this promise has no reader then.
    this.reflector.synced.catch(() => {});
  }

  exchangeToken(): string | undefined {
    return this.token;
  }

  internalTls(): InternalTls | undefined {
    return this.pointer?.internalTls;
  }

  heartbeatMs(): number | undefined {
    // Of a table out of the copy, all that is known is that an operator lived when it was made.
    const madeAt = this.whole?.manifest.createdAt;
    return this.pointer?.heartbeatMs ?? (madeAt === undefined ? undefined : Date.parse(madeAt));
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.cancelCopyTimer();
    this.cutWaitShort?.();
    await this.reflector.close();
    await this.loading;
    await this.copying;
    await this.copy?.settled();
    this.settle();
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  private note(message: string): void {
    if (!this.isClosed) this.options.report.noted(message);
  }

  private get name(): string {
    const { namespace, name } = this.options.pointer;
    return `${namespace}/${name}`;
  }

  private onEvent(event: ReflectorEvent<Pointer>): void {
    if (this.isClosed) return;
    if (this.isInTrouble) this.note('the pointer is watched again');
    this.isInTrouble = false;
    switch (event.type) {
      case 'upserted':
        this.onPointer(event.object);
        return;
      case 'deleted':
        this.note(`the pointer Secret ${this.name} was deleted; the table in use stays in use`);
        return;
      case 'listed':
        if (this.reflector.store.size > 0) return;
        this.note(`there is no pointer Secret ${this.name}; an operator makes it`);
        this.startFromCopy();
    }
  }

  private onPointer(pointer: Pointer): void {
    const before = this.pointer;
    this.pointer = pointer;
    this.token = pointer.exchangeToken ?? this.token;
    if (pointer.internalTls) this.options.report.certified?.(pointer.internalTls);
    if (pointer.manifest === before?.manifest && pointer.manifestSha256 === before.manifestSha256) {
      // A heartbeat: a load that failed is tried again.
      this.cutWaitShort?.();
      return;
    }
    try {
      this.consider(parseManifest(pointer.manifest, pointer.manifestSha256));
    } catch (error) {
      this.refuse(error);
    }
  }

  /** Judges a manifest that the pointer names: load it, or refuse it? */
  private consider(manifest: Manifest): void {
    const isSame = this.isInUse(manifest);
    // A stale read does not undo newer events.
    if (!this.announced || compareVersions(manifest, this.announced) >= 0) this.announced = manifest;
    const isFresh = this.revokeFresh(manifest);
    if (isSame) {
      this.wanted = undefined;
      this.meetSame(manifest);
      return;
    }
    this.wanted = manifest;
    this.isUrgent ||= isFresh;
    // Also out of a backoff: this one may be better.
    if (isFresh || this.isBackingOff) this.cutWaitShort?.();
    this.loading ??= this.load();
  }

  /** @throws {TableLoadError} if the one in use is newer. */
  private isInUse(manifest: Manifest): boolean {
    const held = this.options.holder.current();
    const order = held ? compareVersions(manifest, held) : 1;
    if (order < 0 && held) {
      throw new TableLoadError(
        'older',
        `the table ${describeVersion(manifest)} is older than ${describeVersion(held)}, which is in use`,
        versionOf(manifest),
      );
    }
    return order === 0;
  }

  /** Keys that stopped working since the table in use was made do so now, whatever becomes of the new one. */
  private revokeFresh({ revocations }: Manifest): boolean {
    const known = new Set(this.whole?.manifest.revocations);
    const fresh = revocations.filter((beginning) => !known.has(beginning));
    this.options.holder.revoke(fresh);
    return fresh.length > 0;
  }

  /** The generation of the table in use: the same table, or a generation was used twice. */
  private meetSame(manifest: Manifest): void {
    if (!this.whole || !hasSameContent(manifest, this.whole.manifest)) {
      throw new TableLoadError(
        'older',
        `another table ${describeVersion(manifest)} is in use already; a new table needs a new number`,
        versionOf(manifest),
      );
    }
    this.whole = { ...this.whole, manifest };
    this.options.report.taken(manifest.generation, { version: versionOf(manifest), source: 'api' });
  }

  private async load(): Promise<void> {
    const { clock, random, holder } = this.options;
    let failures = 0;
    while (this.wanted && !this.isClosed) {
      // The first table and a revocation are loaded at once; other tables after a random delay, so that not all pods load together.
      if (holder.current() && !this.isUrgent && failures === 0) await this.wait(random() * spreadMs);
      const manifest = this.wanted;
      if (!manifest || this.isClosed) break;
      this.isUrgent = false;
      try {
        const startedAt = clock.now();
        const view = await this.build(manifest, (ref) => this.fetch(ref));
        if (this.isClosed) break;
        this.take(manifest, view, 'api', clock.now() - startedAt);
        if (this.wanted === manifest) this.wanted = undefined;
        failures = 0;
      } catch (error) {
        if (this.isClosed) break;
        const fault = asLoadError(error, versionOf(manifest));
        this.refuse(fault);
        if (this.wanted === manifest && fault.failure === 'incomplete') await this.readAgain();
        if (this.wanted !== manifest) {
          failures = 0;
          continue;
        }
        // The bytes are what was meant: only another manifest can help.
        if (fault.failure === 'invalid' || fault.failure === 'older') {
          this.wanted = undefined;
          break;
        }
        failures++;
        this.isBackingOff = true;
        await this.wait(
          Math.min(backoff.firstMs * 2 ** (failures - 1), backoff.maxMs) * (0.5 + random() / 2),
        );
        this.isBackingOff = false;
      }
    }
    this.loading = undefined;
  }

  private async build(
    manifest: Manifest,
    read: (ref: Manifest['shards'][number]) => Promise<Buffer>,
  ): Promise<TableView> {
    const { whole } = this;
    if (whole && hasSameContent(manifest, whole.manifest)) {
      return Object.freeze({ ...whole.view, ...versionOf(manifest) });
    }
    const { yieldNow, unpack } = this.work;
    const shards = await this.shelf.collect(manifest, read, yieldNow, unpack);
    return assembleView(manifest, shards, yieldNow, whole);
  }

  private async fetch(ref: Manifest['shards'][number]): Promise<Buffer> {
    const { client, pointer } = this.options;
    const bytes = await fetchShard(client, pointer.namespace, ref, this.closing.signal);
    this.copy?.keep(ref, bytes);
    return bytes;
  }

  private take(manifest: Manifest, view: TableView, source: 'api' | 'copy', loadMs: number): void {
    const { holder, report } = this.options;
    // The other of copy and API server was first, and as new.
    // A manifest may take keys away from the very shards that it names: where new ones could not be written.
    const usable = withoutKeys(view, new Set(manifest.revocations));
    if (holder.offer(usable).type === 'stale') {
      // The watch may have reported a newer pointer since then; its table is still wanted.
      if (source === 'api' && this.isInUse(manifest)) this.meetSame(manifest);
      return;
    }
    this.whole = { manifest, view };
    if (this.announced && compareVersions(this.announced, manifest) > 0) this.revokeFresh(this.announced);
    this.cancelCopyTimer();
    this.shelf.keepOnly(this.wanted ? [manifest, this.wanted] : [manifest]);
    if (source === 'api') this.copy?.save(manifest);
    else this.copy?.adopt(manifest);
    report.taken(view.generation, { version: versionOf(manifest), source, loadMs });
    this.settle();
  }

  private refuse(error: unknown): void {
    const { failure, message, version } = asLoadError(error);
    this.options.report.refused(message, { failure, version });
    if (this.options.holder.current()) this.settle();
    else this.startFromCopy();
  }

  /** A missing shard was deleted after a newer table, which the watch has not reported yet. */
  private async readAgain(): Promise<void> {
    const { client, pointer } = this.options;
    const { signal } = this.closing;
    try {
      const secret = await client.call({ method: 'GET', path: objectPath(secrets, pointer), signal });
      if (!this.isClosed) this.onPointer(readPointer(secret));
    } catch {
      // Nothing newer is known: the load is tried again as it is.
    }
  }

  private startFromCopy(): void {
    if (this.isClosed || this.options.holder.current()) return;
    this.copying ??= this.loadCopy();
  }

  private async loadCopy(): Promise<void> {
    const { copy } = this;
    const { clock } = this.options;
    try {
      const startedAt = clock.now();
      const manifest = await copy?.readManifest();
      if (!copy || !manifest) return;
      const view = await this.build(manifest, (ref) => copy.readShard(ref));
      if (!this.isClosed && !this.options.holder.current()) {
        this.take(manifest, view, 'copy', clock.now() - startedAt);
      }
    } catch (error) {
      this.note(`the copy of the table is not used: ${asLoadError(error).message}`);
    } finally {
      this.settle();
    }
  }

  /** Or until there is a reason to go on. */
  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancel();
        this.cutWaitShort = undefined;
        resolve();
      };
      const cancel = this.options.clock.setTimer(ms, goOn);
      this.cutWaitShort = goOn;
    });
  }
}

function versionOf({ epoch, generation }: Manifest): { epoch: number; generation: number } {
  return { epoch, generation };
}
