// Publishes and maintains the table: takes over the present one, publishes, renews the heartbeat, repairs. Shards are written first and
// the pointer last: a crash between two writes leaves the old or the new table, and at most unused shards.

import type { Clock } from '../../core/clock.ts';
import type { TableVersion } from '../../core/contract/exchange.ts';
import type { InternalTls } from '../../core/contract/internal-tls.ts';
import type { TableContent } from '../../core/contract/routing-table.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import { DeposedError } from './deposed.ts';
import { type EarlierTable, listAllPieces, readEarlier } from './earlier-tables.ts';
import { createLane } from './lane.ts';
import { higher, holdPointer } from './pointer-holder.ts';
import { type Published, type PublishOptions, publishTable } from './publish-table.ts';
import type { PublishReport } from './report.ts';
import { openRetiredStore } from './retired-store.ts';
import { createShardCutter } from './shards.ts';
import { dropShards, repair } from './table-shards.ts';
import { openTableStore } from './table-store.ts';
import { type Findings, placeOf, readFindings, type TakenOver } from './take-over.ts';
import { namesInUse, type PublishTools, type Term } from './term.ts';

interface PublisherOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  randomBytes(size: number): Buffer;
  readonly instance: string;
  readonly tableNamespace: string;
  /** What gateways are to be known by over TLS; given what the pointer has. Nothing where left out. */
  internalTls?(found: InternalTls | undefined): InternalTls | undefined;
  report(report: PublishReport): void;
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
   * Writes shards again that were deleted by hand. Leave a doubtful shard out of `presentShardNames`: it is then read and compared.
   * Throws as `publish`.
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
  /** The text in which a human releases retired keys; undefined without one. */
  release(): string | undefined;
  /** The value of the pointer's pin annotation; undefined without one. */
  pin(): string | undefined;
  /** The table of a generation that is in use, or of which there is a copy. Throws as `publish`. */
  readEarlier(generation: number): Promise<EarlierTable>;
  /** Bearer of the exchange; undefined before the first `takeOver`. */
  exchangeToken(): string | undefined;
  /** The certificates that the pointer hands to gateways and ledger; undefined: they use plain HTTP. */
  internalTls(): InternalTls | undefined;
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

export function createPublisher(options: PublisherOptions): Publisher {
  const { instance } = options;
  const tools = openTools(options);
  const inTurn = createLane();
  let token: string | undefined;
  let highest: TableVersion = { epoch: 0, generation: 0 };
  let term: Term | undefined;
  let whyNot = new DeposedError('not the leader');

  return {
    takeOver: () => inTurn(takeOver),
    publish: (content, how = {}) => inTurn(() => asLeader((lead) => publishTable(tools, lead, content, how))),
    heartbeat: () => inTurn(() => asLeader(({ holder }) => holder.renew())),
    repair: (present) => inTurn(() => asLeader((lead) => repair(tools, lead, present))),
    outnumber: (version) => term?.holder.outnumber(version) ?? false,
    epochFloor: () => term?.holder.epochFloor() ?? 0,
    isAbsenceAccepted: () => term?.holder.isAbsenceAccepted() ?? false,
    release: () => term?.holder.release(),
    pin: () => term?.holder.pin(),
    readEarlier: (generation) => inTurn(() => asLeader((lead) => readEarlier(tools, lead, generation))),
    exchangeToken: () => token,
    internalTls: () => term?.holder.internalTls(),
    shardsNamed: () => term?.holder.published()?.manifest.shards.map(({ name }) => name) ?? [],
    shardsInUse: () => (term === undefined ? new Set() : namesInUse(term, instance)),
    listShards: () => inTurn(() => asLeader((lead) => listAllPieces(tools, lead))),
    dropShards: (names) => inTurn(() => asLeader((lead) => dropShards(tools, lead, names))),
    standDown: () => end(new DeposedError('not the leader: leadership was given up')),
  };

  async function takeOver(): Promise<TakenOver> {
    end(new DeposedError('not the leader: the takeover has not finished'));
    const found = await readFindings(tools);
    highest = higher(highest, found.version);
    token = found.pointer?.exchangeToken ?? token ?? options.randomBytes(32).toString('base64url');
    const lead = beginTerm(tools, found, token, highest, () => {
      if (term !== lead) throw whyNot;
    });
    term = lead;
    return found.taken;
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

  function end(why: DeposedError): void {
    if (term !== undefined) highest = higher(highest, term.holder.highest());
    term = undefined;
    whyNot = why;
  }
}

function openTools(options: PublisherOptions): PublishTools {
  const { client, clock, instance, tableNamespace, report } = options;
  const place = { client, instance, tableNamespace };
  return {
    clock,
    instance,
    tableNamespace,
    internalTls: options.internalTls ?? (() => undefined),
    report,
    store: openTableStore(place),
    cutter: createShardCutter(instance),
    retiredStore: openRetiredStore({
      ...place,
      onUnreadable(name) {
        const message = `Secret ${tableNamespace}/${name} with retired keys cannot be read; other namespaces can import them`;
        report({ type: 'retired-unreadable', message });
      },
    }),
  };
}

function beginTerm(
  tools: PublishTools,
  { pointer, table, shardNames, broken }: Findings,
  exchangeToken: string,
  highest: TableVersion,
  mustLead: () => void,
): Term {
  const { store, clock, report } = tools;
  const place = placeOf(tools);
  const holder = holdPointer({
    store,
    clock,
    place,
    exchangeToken,
    internalTls: tools.internalTls,
    pointer,
    table,
    highest,
    mustStillLead: mustLead,
    onRecreated() {
      report({ type: 'pointer-recreated', message: `${place} was deleted and is created again` });
    },
    onAbsenceAccepted() {
      report({ type: 'absence-accepted', message: `an annotation on ${place} confirms the missing objects` });
    },
    onReleaseAsked() {
      report({ type: 'release-asked', message: `an annotation on ${place} releases retired keys` });
    },
    onPinChanged() {
      report({ type: 'pin-changed', message: `the annotation on ${place} that pins the table has changed` });
    },
  });
  return {
    holder,
    present: new Set(shardNames.filter((name) => !broken.has(name))),
    used: [shardNames],
    coming: [],
    kept: new Map(),
    sameSince: holder.published()?.manifest.generation ?? 0,
    mustLead,
  };
}
