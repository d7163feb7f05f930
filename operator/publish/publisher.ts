// How does a table get into use, and stay there? A leader takes over what is there, publishes, renews the
// heartbeat, repairs. Shards first, the pointer last: killed between any two writes it leaves the old table or
// the new one, and at most shards that nobody names.

import type { TableVersion } from '../../core/contract/exchange.ts';
import {
  keptManifestName,
  MANIFEST_FORMAT,
  type Manifest,
  pointerName,
} from '../../core/contract/manifest.ts';
import {
  type HealthHint,
  HINTS_MAX,
  type KeyEntry,
  neededFormat,
  type TableContent,
} from '../../core/contract/routing-table.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { Clock } from '../../core/kube/clock.ts';
import { canonicalJson } from '../canonical-json.ts';
import { letOthers } from '../turn.ts';
import type { RetiredKey } from '../watch/snapshot.ts';
import { EARLIER_MANIFESTS_KEPT } from './collect.ts';
import { DeposedError } from './deposed.ts';
import { eachOf } from './each-of.ts';
import { createLane } from './lane.ts';
import {
  ACCEPT_DOWNGRADE_ANNOTATION,
  higher,
  holdPointer,
  type PointerHolder,
  type Standing,
} from './pointer-holder.ts';
import { openRetiredStore } from './retired-store.ts';
import { listRevocations, type Revocation, shortened, works } from './revocations.ts';
import { createShardCutter, type Shard } from './shards.ts';
import {
  type KeptManifest,
  openTableStore,
  type Pointer,
  SHARD_CALLS_AT_ONCE,
  type ShardProblem,
} from './table-store.ts';

/** What the operator logs and counts. No message holds a secret. */
export type PublishReport =
  /** Found while taking over; the table is begun anew. */
  | { readonly type: 'pointer-unreadable'; readonly message: string }
  /** Somebody had deleted it. */
  | { readonly type: 'pointer-recreated'; readonly message: string }
  /** Found while taking over; the next publish makes it again. */
  | ({ readonly type: 'shard-unreadable' } & ShardProblem)
  /** A Secret of its name held something else. */
  | { readonly type: 'shard-replaced'; readonly name: string; readonly message: string }
  /** Compile again with `isAccepted`, and publish that with `acceptsAbsence`. */
  | { readonly type: 'absence-accepted'; readonly message: string }
  /** Compile again without the keys in `release`, and publish that with `releases`. */
  | { readonly type: 'release-asked'; readonly message: string }
  /** Its keys are not refused to other namespaces any more. */
  | { readonly type: 'retired-unreadable'; readonly message: string }
  /** A human has pinned the table, or ended that: publish anew. */
  | { readonly type: 'pin-changed'; readonly message: string }
  /** There will be no way back to this generation. */
  | { readonly type: 'manifest-not-kept'; readonly message: string };

export interface PublisherOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  randomBytes(size: number): Buffer;
  readonly instance: string;
  readonly tableNamespace: string;
  report(report: PublishReport): void;
}

export interface TakenOver {
  /** What gateways serve: without keys that the manifest calls revoked, and without shards that cannot be read. */
  readonly content: TableContent | undefined;
  /** Of that content. */
  readonly version: TableVersion | undefined;
  /** Keys that are in its shards, and that the manifest calls revoked. */
  readonly revoked: readonly KeyEntry[];
  /** Keys that left the table, and stay with their namespace. */
  readonly retired: readonly RetiredKey[];
  /** As the manifest says them. */
  readonly hints: readonly HealthHint[];
}

export interface PublishOptions {
  /** Access is taken away: where many shards have to be written, the revocations go ahead of them. */
  readonly urgent?: boolean;
  /** The content was made with `isAbsenceAccepted`; the next write of the pointer takes the annotation off. */
  readonly acceptsAbsence?: boolean;
  /** Keys that left the table until then, with this content too: they are written before it is in use. Absent: as before. */
  readonly retired?: readonly RetiredKey[];
  /** `retired` was made with this `release`; the next write of the pointer takes the annotation off. */
  readonly releases?: string | undefined;
  /** What the operator's own checks found wrong. */
  readonly hints?: readonly HealthHint[];
}

export interface Published extends TableVersion {
  /** False: this content was in use already, and the pointer was not written. */
  readonly isNew: boolean;
  readonly shardsWritten: number;
  /** Compressed shards and manifests. */
  readonly bytesWritten: number;
  readonly durationMs: number;
}

/** Calls take their turn: while one is at work, no other one of the same publisher writes. */
export interface Publisher {
  /**
   * Begins a term. Only reads; the next `heartbeat` or `publish` tells the new epoch.
   *
   * @throws {DeposedError} where the table was written by a newer operator, and needs a newer reader.
   */
  takeOver(): Promise<TakenOver>;
  /**
   * @throws {DeposedError} for good, until the next `takeOver`.
   * @throws {UnfitEntryError} before anything is written.
   * @throws {KubeError} to be tried again.
   */
  publish(content: TableContent, options?: PublishOptions): Promise<Published>;
  /** Every ten seconds, and after taking over. Does nothing before the first table. Throws as `publish`. */
  heartbeat(): Promise<void>;
  /**
   * Makes anew what was deleted by hand. A shard that is there but in doubt is left out of `presentShardNames`,
   * then it is read and compared. Throws as `publish`.
   */
  repair(presentShardNames: ReadonlySet<string>): Promise<{ readonly shardsWritten: number }>;
  /**
   * A gateway runs a table of this version, as after a cluster was put back to an older state. Where that is above
   * the pointer's, the next write goes above it: a gateway never goes back. Gives whether it was.
   */
  outnumber(version: TableVersion): boolean;
  /** A table of a lower epoch is of another history: its generation says nothing about what it holds. */
  epochFloor(): number;
  /** Has a human agreed to what is absent? */
  isAbsenceAccepted(): boolean;
  /** The text in which a human releases retired keys; undefined: there is none. */
  release(): string | undefined;
  /** What the pin annotation of the pointer says; undefined: there is none. */
  pin(): string | undefined;
  /** The table of a generation that is in use, or of which there is a copy. Throws as `publish`. */
  readEarlier(generation: number): Promise<EarlierTable>;
  /** Bearer of the exchange; undefined before the first `takeOver`. */
  exchangeToken(): string | undefined;
  /** Of the current manifest. */
  shardsNamed(): readonly string[];
  /** Of the current manifest and the last ones before it. */
  shardsInUse(): ReadonlySet<string>;
  /** Every shard of this installation that is in the cluster, and every copy of a manifest; reads what the last copies name. */
  listShards(): Promise<readonly string[]>;
  /** Deletes those that are not in use, after a look whether this is still the leader. Throws as `publish`. */
  dropShards(names: readonly string[]): Promise<number>;
  /** Leadership is over: no further write is begun until the next `takeOver`. */
  standDown(): void;
}

export type EarlierTable =
  | { readonly type: 'read'; readonly content: TableContent }
  /** With what is wrong, in words. */
  | { readonly type: 'not-there'; readonly message: string };

/** What a leader knows of the table that stands in the pointer. */
interface Table {
  /** For the revocations of the next one. */
  readonly content: TableContent | undefined;
  readonly revocations: readonly Revocation[];
  /** By name, as far as this term has cut them. */
  readonly shards: ReadonlyMap<string, Shard>;
}

interface Term {
  readonly holder: PointerHolder<Table>;
  /** Shards known to be in the cluster, and whole. */
  readonly present: Set<string>;
  /** Shard names of the last manifests, newest last. */
  used: readonly (readonly string[])[];
  /** Of the manifest that is on its way into the pointer, or was when its write failed. */
  coming: readonly string[];
  /** Copies of manifests that are to stay, and the shards that each names; as far as they were read. */
  kept: ReadonlyMap<number, readonly string[]>;
  /** The first generation that has what stands there now but for keys and hints, as far as this term knows. */
  sameSince: number;
}

export function createPublisher(options: PublisherOptions): Publisher {
  const { client, clock, instance, tableNamespace, report } = options;
  const store = openTableStore({ client, instance, tableNamespace });
  const cutter = createShardCutter(instance);
  const retiredStore = openRetiredStore({
    client,
    instance,
    tableNamespace,
    onUnreadable(name) {
      const message = `Secret ${tableNamespace}/${name} with retired keys cannot be read; other namespaces can import them`;
      report({ type: 'retired-unreadable', message });
    },
  });
  const inTurn = createLane();
  const place = `Secret ${tableNamespace}/${pointerName(instance)}`;
  let token: string | undefined;
  let highest: TableVersion = { epoch: 0, generation: 0 };
  let term: Term | undefined;
  let whyNot = new DeposedError('not the leader: this process has not taken over');

  return {
    takeOver: () => inTurn(takeOver),
    publish: (content, how = {}) => inTurn(() => asLeader((lead) => publish(lead, content, how))),
    heartbeat: () => inTurn(() => asLeader(({ holder }) => holder.renew())),
    repair: (present) => inTurn(() => asLeader((lead) => repair(lead, present))),
    outnumber: (version) => term?.holder.outnumber(version) ?? false,
    epochFloor: () => term?.holder.epochFloor() ?? 0,
    isAbsenceAccepted: () => term?.holder.isAbsenceAccepted() ?? false,
    release: () => term?.holder.release(),
    pin: () => term?.holder.pin(),
    readEarlier: (generation) => inTurn(() => asLeader((lead) => readEarlier(lead, generation))),
    exchangeToken: () => token,
    shardsNamed: () => term?.holder.standing()?.manifest.shards.map(({ name }) => name) ?? [],
    shardsInUse: () => inUse(term),
    listShards: () => inTurn(() => asLeader(listAllPieces)),
    dropShards: (names) => inTurn(() => asLeader((lead) => dropShards(lead, names))),
    standDown: () => end(new DeposedError('not the leader: leadership was given up')),
  };

  async function takeOver(): Promise<TakenOver> {
    end(new DeposedError('not the leader: taking over has not come to its end'));
    const pointer = await store.readPointer();
    const found = pointer?.manifest;
    if (found?.kind === 'unreadable' && found.isNewer === true && !acceptsDowngrade(pointer)) {
      // It would not even know what it takes away.
      throw new DeposedError(
        `${place} was written by a newer operator: ${found.problem}. Gateways serve it on; run the newer operator, or let ` +
          `this one begin the table anew: kubectl annotate secret ${pointerName(instance)} -n ${tableNamespace} ${ACCEPT_DOWNGRADE_ANNOTATION}=true`,
      );
    }
    if (found?.kind === 'unreadable') {
      const message = `${place} cannot be read: ${found.problem}; the table is begun anew`;
      report({ type: 'pointer-unreadable', message });
    }
    const manifest = found?.kind === 'readable' ? found.manifest : undefined;
    const read = manifest === undefined ? undefined : await store.readShards(manifest);
    for (const problem of read?.problems ?? []) report({ type: 'shard-unreadable', ...problem });
    const retired = await retiredStore.read();

    const content = read && withoutRevoked(read.content, manifest?.revocations ?? []);
    const working = new Set(content?.keys);
    const revoked = read?.content.keys.filter((entry) => !working.has(entry)) ?? [];
    // When they were added is written nowhere; here they count from now.
    const revocations = (manifest?.revocations ?? []).map((digest) => ({ digest, addedMs: clock.now() }));
    const names = (manifest?.shards ?? []).map(({ name }) => name);
    const broken = new Set(read?.problems.map(({ name }) => name));
    highest = higher(highest, manifest ?? (found?.kind === 'unreadable' ? found.version : undefined));
    token = pointer?.exchangeToken ?? token ?? options.randomBytes(32).toString('base64url');
    begin(token, pointer, { content, revocations, shards: new Map() }, names, broken);
    const version = manifest && { epoch: manifest.epoch, generation: manifest.generation };
    return { content, version, revoked, retired, hints: manifest?.hints ?? [] };
  }

  function begin(
    exchangeToken: string,
    pointer: Pointer | undefined,
    table: Table,
    names: readonly string[],
    broken: ReadonlySet<string>,
  ): void {
    const holder = holdPointer({
      store,
      clock,
      place,
      exchangeToken,
      pointer,
      table,
      highest,
      mustStillLead: () => mustLead(lead),
      onRecreated() {
        report({ type: 'pointer-recreated', message: `${place} had been deleted and was made anew` });
      },
      onAbsenceAccepted() {
        report({ type: 'absence-accepted', message: `an annotation on ${place} accepts what is absent` });
      },
      onReleaseAsked() {
        report({ type: 'release-asked', message: `an annotation on ${place} releases retired keys` });
      },
      onPinChanged() {
        report({ type: 'pin-changed', message: `the annotation on ${place} that pins the table is another` });
      },
    });
    const present = new Set(names.filter((name) => !broken.has(name)));
    const lead: Term = { holder, present, used: [names], coming: [], kept: new Map(), sameSince: 0 };
    lead.sameSince = holder.standing()?.manifest.generation ?? 0;
    term = lead;
  }

  async function publish(lead: Term, content: TableContent, how: PublishOptions): Promise<Published> {
    const startedMs = clock.now();
    const { holder } = lead;
    const standing = holder.standing();
    const cut = await cutter.cut(content, standing?.manifest.shards ?? [], () => letOthers(clock));
    const minReader = Math.max(MANIFEST_FORMAT, ...content.providers.map(neededFormat));
    const said = {
      minReader,
      settings: content.settings,
      shards: cut.map(({ ref }) => ref),
      hints: (how.hints ?? []).slice(0, HINTS_MAX),
    };
    const isNew =
      standing === undefined ||
      !isSaidBy(standing.manifest, said) ||
      // A key that was taken away ahead of its shard, and is given back before that shard could be written.
      hasRevoked(content, standing.manifest.revocations);
    const missing = cut.filter(({ ref }) => !lead.present.has(ref.name));
    const inForce = standing?.table.revocations ?? [];
    const revocations = listRevocations(standing?.table.content, content, inForce, clock.now());
    const head = {
      format: minReader,
      minReader,
      createdAt: new Date(clock.wallMs()).toISOString(),
      revocations: revocations.map(({ digest }) => digest),
    };
    let bytesWritten = 0;

    lead.coming = said.shards.map(({ name }) => name);
    // guard: revocation-first
    if (isNew && how.urgent === true && missing.length > SHARD_CALLS_AT_ONCE) {
      // Nobody waits for a hundred shards.
      bytesWritten += await revokeAhead(lead, head, revocations);
    }
    // Beside the shards, so that it costs no time.
    const isOtherwise = standing !== undefined && isWorthACopy(standing.manifest, said);
    const keeping = isOtherwise ? keepCopy(lead, standing) : undefined;
    // All of it before the pointer: nobody else may ever get a key that this table takes away. One that gives a key back, from shards
    // that are there, does not wait for the list: the next publish writes it.
    const takesAway = head.revocations.some((digest) => !standing?.manifest.revocations.includes(digest));
    const retiring = writeRetired(lead, how).catch((error: unknown) => {
      if (error instanceof DeposedError || takesAway || missing.length > 0) throw error;
    });
    const writing = [writeShards(lead, missing), retiring, keeping] as const;
    try {
      const [shardBytes] = await Promise.all(writing);
      bytesWritten += shardBytes;
    } catch (error) {
      await Promise.allSettled(writing);
      // One object suffices to take access away, also where a shard cannot be written.
      if (!(error instanceof DeposedError)) await revokeAhead(lead, head, revocations);
      throw error;
    }
    const table = { content, revocations, shards: new Map(cut.map((shard) => [shard.ref.name, shard])) };
    const endsAcceptance = how.acceptsAbsence ?? false;
    if (isNew) {
      bytesWritten += await holder.publish({ ...head, ...said }, table, { endsAcceptance });
      lead.used = [...lead.used, lead.coming].slice(-1 - EARLIER_MANIFESTS_KEPT);
      if (isOtherwise || standing === undefined) lead.sameSince = holder.standing()?.manifest.generation ?? 0;
    } else {
      holder.know(table);
      if (endsAcceptance) holder.endAcceptance();
    }
    // No revocation waits for it, and what is left is taken away by the next publish.
    await retiredStore
      .tidy(() => mustLead(lead))
      .catch((error: unknown) => {
        if (error instanceof DeposedError) throw error;
      });
    const { epoch, generation } = holder.standing()?.manifest ?? holder.highest();
    const durationMs = clock.now() - startedMs;
    return { epoch, generation, isNew, shardsWritten: missing.length, bytesWritten, durationMs };
  }

  async function writeRetired(lead: Term, { retired, releases }: PublishOptions): Promise<void> {
    if (retired !== undefined) await retiredStore.write(retired, () => mustLead(lead));
    if (releases === undefined) return;
    // Once the annotation is off, nobody knows that they were released.
    await retiredStore.tidy(() => mustLead(lead));
    lead.holder.endRelease(releases);
  }

  /** Of what stands in the pointer, before something else does. */
  async function keepCopy(lead: Term, { manifest, text }: Standing<Table>): Promise<void> {
    const { generation, shards } = manifest;
    if (lead.kept.has(generation)) return;
    try {
      mustLead(lead);
      await store.keepManifest({ generation, since: Math.min(lead.sameSince, generation) }, text);
      lead.kept = new Map([...lead.kept, [generation, shards.map(({ name }) => name)]]);
    } catch (error) {
      // No table waits for a copy of the one before.
      if (error instanceof DeposedError) return;
      const fact = error instanceof Error ? error.message : String(error);
      report({
        type: 'manifest-not-kept',
        message: `no copy of table generation ${generation} could be kept: ${fact}`,
      });
    }
  }

  async function readEarlier(lead: Term, generation: number): Promise<EarlierTable> {
    const standing = lead.holder.standing();
    const notThere = (fact: string): EarlierTable => ({
      type: 'not-there',
      message: `table generation ${generation} ${fact}`,
    });
    const isStanding =
      standing !== undefined && lead.sameSince <= generation && generation <= standing.manifest.generation;
    if (isStanding && standing.table.content !== undefined) {
      return { type: 'read', content: standing.table.content };
    }
    const copies = await store.listKept();
    const copy = copies.find((one) => one.since <= generation && generation <= one.generation);
    const found = copy && (await store.readKept(copy.generation));
    if (found === undefined) {
      const kept = copies.slice(0, EARLIER_MANIFESTS_KEPT).map(describeKept);
      return notThere(`is not kept; ${kept.length === 0 ? 'none is yet' : `kept are ${kept.join(', ')}`}`);
    }
    if (found.kind === 'unreadable') return notThere(`cannot be read: ${found.problem}`);
    const { content, problems } = await store.readShards(found.manifest);
    const [problem] = problems;
    if (problem !== undefined) return notThere(`cannot be read: ${problem.message}`);
    return { type: 'read', content };
  }

  /** Reads anew which copies there are, and what those that stay name. */
  async function listAllPieces(lead: Term): Promise<readonly string[]> {
    const shards = await store.listShards();
    const copies = await store.listKept();
    const pinned = Number(lead.holder.pin());
    const staying = copies.filter(
      ({ generation, since }, index) =>
        index < EARLIER_MANIFESTS_KEPT || (since <= pinned && pinned <= generation),
    );
    const named = await eachOf(staying, SHARD_CALLS_AT_ONCE, async ({ generation }) => {
      const known = lead.kept.get(generation);
      if (known !== undefined) return [generation, known] as const;
      const found = await store.readKept(generation);
      const refs = found?.kind === 'readable' ? found.manifest.shards : [];
      return [generation, refs.map(({ name }) => name)] as const;
    });
    lead.kept = new Map(named);
    return [...shards, ...copies.map(({ generation }) => keptManifestName(instance, generation))];
  }

  function inUse(lead: Term | undefined): ReadonlySet<string> {
    if (lead === undefined) return new Set();
    const copies = [...lead.kept.keys()].map((generation) => keptManifestName(instance, generation));
    return new Set([...shardsInUse(lead), ...[...lead.kept.values()].flat(), ...copies]);
  }

  /** The table in use without the keys that were revoked, unless the pointer says so already. Gives the bytes. */
  async function revokeAhead(
    { holder }: Term,
    head: Omit<Manifest, 'epoch' | 'generation' | 'settings' | 'shards'>,
    revocations: readonly Revocation[],
  ): Promise<number> {
    const standing = holder.standing();
    if (standing === undefined) return 0;
    const known = new Set(standing.manifest.revocations);
    if (head.revocations.every((digest) => known.has(digest))) return 0;
    const { format, minReader, settings, shards, hints } = standing.manifest;
    return await holder.publish(
      { ...head, format, minReader, settings, shards, hints },
      { ...standing.table, revocations },
    );
  }

  async function repair(
    lead: Term,
    presentShardNames: ReadonlySet<string>,
  ): Promise<{ readonly shardsWritten: number }> {
    const standing = lead.holder.standing();
    if (standing === undefined) return { shardsWritten: 0 };
    const gone = standing.manifest.shards.filter(({ name }) => !presentShardNames.has(name));
    // One that this term has not cut yet is made by the next publish.
    for (const { name } of gone) lead.present.delete(name);
    const shards = gone.flatMap(({ name }) => standing.table.shards.get(name) ?? []);
    await writeShards(lead, shards);
    if (!(await lead.holder.look())) await lead.holder.renew();
    return { shardsWritten: shards.length };
  }

  async function dropShards(lead: Term, names: readonly string[]): Promise<number> {
    // A leader that slept through its end remembers an old table, and would delete shards of the new one.
    await lead.holder.look();
    const used = inUse(lead);
    const unused = names.filter((name) => !used.has(name));
    await eachOf(unused, SHARD_CALLS_AT_ONCE, async (name) => {
      mustLead(lead);
      lead.present.delete(name);
      await store.deleteShard(name);
    });
    return unused.length;
  }

  /** Gives how many bytes that were. */
  async function writeShards(lead: Term, shards: readonly Shard[]): Promise<number> {
    await eachOf(shards, SHARD_CALLS_AT_ONCE, async (shard) => {
      mustLead(lead);
      const { name } = shard.ref;
      if ((await store.ensureShard(shard)) === 'replaced') {
        const message = `Secret ${tableNamespace}/${name} did not hold what its name says and was replaced`;
        report({ type: 'shard-replaced', name, message });
      }
      lead.present.add(name);
    });
    return shards.reduce((sum, shard) => sum + shard.compressed().length, 0);
  }

  async function asLeader<T>(run: (lead: Term) => Promise<T>): Promise<T> {
    if (term === undefined) throw whyNot;
    try {
      return await run(term);
    } catch (error) {
      if (error instanceof DeposedError) end(error);
      throw error;
    }
  }

  function mustLead(lead: Term): void {
    if (term !== lead) throw whyNot;
  }

  function end(why: DeposedError): void {
    if (term !== undefined) highest = higher(highest, term.holder.highest());
    term = undefined;
    whyNot = why;
  }
}

function isSaidBy(
  { minReader, settings, shards, hints = [] }: Manifest,
  said: Pick<Manifest, 'minReader' | 'settings' | 'shards' | 'hints'>,
): boolean {
  return canonicalJson({ minReader, settings, shards, hints }) === canonicalJson(said);
}

/**
 * Whether there is something to go back to behind that. Keys are never taken back to what they were, see `pin-content.ts`; and
 * they and the hints change so often that copies of each would push out those that matter.
 */
function isWorthACopy(standing: Manifest, said: Pick<Manifest, 'settings' | 'shards'>): boolean {
  const ofRoutes = ({ settings, shards }: Pick<Manifest, 'settings' | 'shards'>) =>
    canonicalJson({ settings, shards: shards.filter(({ kind }) => kind !== 'keys') });
  return ofRoutes(standing) !== ofRoutes(said);
}

function describeKept({ generation, since }: KeptManifest): string {
  return since === generation ? `${generation}` : `${since} to ${generation}`;
}

function acceptsDowngrade(pointer: Pointer | undefined): boolean {
  return pointer?.metadata.annotations?.[ACCEPT_DOWNGRADE_ANNOTATION] === 'true';
}

function shardsInUse(lead: Term): ReadonlySet<string> {
  // What stands may have come there by a write whose answer was lost.
  const standing = lead.holder.standing()?.manifest.shards.map(({ name }) => name) ?? [];
  return new Set([...lead.used.flat(), ...lead.coming, ...standing]);
}

function hasRevoked(content: TableContent, revocations: readonly string[]): boolean {
  return revocations.some((digest) => works(digest, content));
}

/** A gateway refuses these whatever its shards say. */
function withoutRevoked(content: TableContent, revocations: readonly string[]): TableContent {
  const revoked = new Set(revocations);
  return { ...content, keys: content.keys.filter(({ sha256 }) => !revoked.has(shortened(sha256))) };
}
