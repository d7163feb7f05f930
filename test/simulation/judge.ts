// Was a promise broken? Looked at from outside, at every write that the API server takes and every table that a gateway takes:
// the invariants I1 to I8, the truth of Programmed, and at the end that all gateways run what the objects say.

import { hash } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import {
  type Manifest,
  manifestSchema,
  POINTER_DATA,
  REVOCATION_CHARS,
  SHARD_DATA,
  type ShardRef,
  shardContentSchemas,
} from '../../core/contract/manifest.ts';
import {
  providerEntrySchema,
  READER_FORMAT,
  routeEntrySchema,
  type TableContent,
} from '../../core/contract/routing-table.ts';
import { isRecord, type KubeObject } from '../../core/kube/object.ts';
import { compareVersions } from '../../gateway/table/version.ts';
import type { TableView } from '../../gateway/table/view.ts';
import { createCompiler } from '../../operator/compile/compile.ts';
import type { LastGood } from '../../operator/compile/last-good.ts';
import { EARLIER_MANIFESTS_KEPT } from '../../operator/publish/collect.ts';
import type { Kind } from '../../operator/resources/resource.ts';
import { holdObject } from '../../operator/watch/resources.ts';
import { readPlace, readSecret } from '../../operator/watch/secrets.ts';
import type { RawObject, SecretRecord, Snapshot } from '../../operator/watch/snapshot.ts';
import { type ApiServer, objectPathOf, type SeenWrite } from './api-client.ts';
import type { Stored } from './api-store.ts';
import type { GatewayLife, Gateways } from './gateways.ts';
import {
  CUSTOM,
  HOLD_MS,
  isShardPath,
  LEASE_PATH,
  PLATFORM,
  PODS,
  POINTER_PATH,
  SECRETS,
  TABLE_NAMESPACE,
} from './settings.ts';
import type { World } from './world.ts';

export interface Judge {
  onSwap(life: GatewayLife, view: TableView): void;
  /** The gateways, once they are there. */
  watch(gateways: Gateways): void;
  /** From now on every key must be refused everywhere so soon after it was taken away. */
  expectRevocationsWithin(ms: number): void;
  /** What keeps the system from being where it should be; undefined: it is there. */
  whyNotConverged(): string | undefined;
  /** Of some object it is said that it is in flight; after a while it is said to be stuck. */
  isReconciling(): boolean;
  /** From now on nothing is written but heartbeat and lease. */
  expectQuiet(): void;
}

const revocationLookMs = 250;
const unusedMsMin = 10 * 60_000;
/** A process that came in the place of another may not have been heard yet. */
const freshMs = 40_000;
/** A pod that became ready may not be known yet. */
const untoldMs = 15_000;

export function makeJudge(world: World, server: ApiServer): Judge {
  const { store } = server;
  /** What operators have published, by number. */
  const published = new Map<string, Manifest>();
  /** The last manifests, newest last. */
  let recent: { readonly text: string; readonly manifest: Manifest }[] = [];
  /** Epochs of leaders who found no table of an operator. */
  const begunAnew = new Set<number>();
  /** Whether what is in the pointer was written by an operator. */
  let isOurs = false;
  /** Who wrote the table that is, and when. */
  let lastTable = { by: '', version: 0 };
  /** By what they hold. */
  const shards = new Map<string, Partial<Omit<TableContent, 'settings'>>>();
  /** Touched by others than operators. */
  const meddledShards = new Set<string>();
  /** Since when; keys that no object represents any more. */
  const revoked = new Map<string, number>();
  const known = new Set<string>();
  /** What each life has run last. */
  const ran = new WeakMap<GatewayLife, TableView>();
  /** Digests that any pointer has called revoked. */
  const announced = new Set<string>();
  /** Operators that lost a compare-and-swap to another, and have not been elected since. */
  const deposed = new Set<string>();
  /** The table that the write in progress has taken the place of. */
  let overwritten: typeof lastTable | undefined;
  const compile = createCompiler();
  const judgedBy = new WeakMap<GatewayLife, TableView>();
  const judgedOf = new WeakMap<GatewayLife, string>();
  const pointers = new Map<string, Manifest | undefined>();
  /** Of the last change that a compile could see. */
  let wishesVersion = 0;
  let wanted: { readonly version: number; readonly table: TableContent } | undefined;
  let gateways: Gateways | undefined;
  let revocationMs: number | undefined;
  let revocationFromMs = 0;
  let isQuiet = false;

  const fail = (id: string, what: string): void => world.fail(`${id}: ${what}`);

  store.onChange(({ path, resource, before, after, by, version }) => {
    const isOperator = by.startsWith('operator');
    if (isWish(path, resource)) wishesVersion = version;
    if (path === POINTER_PATH) onPointer(after, by, isOperator, version);
    else if (isShardPath(path)) {
      if (after !== undefined && isOperator) remember(after);
      if (!isOperator) meddledShards.add(nameOf(path));
    } else if (
      resource === `${CUSTOM}/apikeys` ||
      (resource === SECRETS && (before ?? after)?.namespace !== TABLE_NAMESPACE)
    ) {
      settleRevoked();
    }
  });

  server.onWrite((write) => {
    const { process, method, path, result } = write;
    if (!process.startsWith('operator')) return;
    if (isQuiet && result.ok && !isHeartbeat(write) && path !== LEASE_PATH) {
      fail('quiet', `${process} writes ${method} ${path} although nothing has changed`);
    }
    if (path === LEASE_PATH && result.ok && holderOf(result.stored.value) === process)
      deposed.delete(process);
    if (path === POINTER_PATH && result.ok) {
      if (overwritten !== undefined && overwritten.by !== process && overwritten.version > seenBy(write.body))
        fail('I4', `${process} writes over a table of ${overwritten.by} that it has not seen`);
      overwritten = undefined;
    }
    const isTable =
      path === POINTER_PATH ||
      isShardPath(path) ||
      (method === 'POST' && path.includes(`/${TABLE_NAMESPACE}/`));
    if (isTable && deposed.has(process)) {
      fail('I4', `${process} lost the pointer to another leader and goes on writing: ${method} ${path}`);
    }
    const isConflict = path === POINTER_PATH && method === 'PUT' && !result.ok && result.status === 409;
    if (isConflict && lastTable.by !== process && lastTable.version > seenBy(write.body))
      deposed.add(process);
    if (method === 'DELETE' && isShardPath(path) && result.ok) onCollected(process, result.stored);
    if (method === 'PATCH' && path.endsWith('/status') && result.ok) onStatus(result.stored);
  });

  function onPointer(after: Stored | undefined, by: string, isOperator: boolean, version: number): void {
    if (after === undefined) {
      isOurs = false;
      return;
    }
    const text = pointerText(after.value);
    if (!isOperator) {
      // A label is no table.
      if (text !== recent.at(-1)?.text) isOurs = false;
      return;
    }
    const last = recent.at(-1);
    const wasOurs = isOurs;
    isOurs = true;
    if (text === last?.text && wasOurs) return;
    overwritten = wasOurs ? lastTable : undefined;
    lastTable = { by, version };
    const parsed = manifestSchema.safeParse(parseJson(text));
    if (!parsed.success) {
      fail('I8', `${by} wrote a manifest that is none`);
      return;
    }
    const manifest = parsed.data;
    const number = numberOf(manifest);
    if (wasOurs && last !== undefined && compareVersions(manifest, last.manifest) <= 0) {
      fail('I3', `${by} wrote ${number} over ${numberOf(last.manifest)}`);
    }
    const namesake = published.get(number);
    if (namesake !== undefined && JSON.stringify(namesake.shards) !== JSON.stringify(manifest.shards)) {
      fail('I3', `the number ${number} represents two tables`);
    }
    published.set(number, manifest);
    if (!wasOurs && manifest.epoch !== last?.manifest.epoch) begunAnew.add(manifest.epoch);
    for (const digest of manifest.revocations) announced.add(digest);
    const isOtherTable = JSON.stringify(last?.manifest.shards) !== JSON.stringify(manifest.shards);
    for (const ref of isOtherTable ? manifest.shards : []) {
      if (meddledShards.has(ref.name)) continue;
      const stored = store.find(pathOfShard(ref.name));
      if (stored === undefined || contentOf(stored)?.sha256 !== ref.sha256) {
        fail('I1', `${by} names the shard ${ref.name} in ${number} and it is not there`);
      }
    }
    recent = [...recent, { text, manifest }].slice(-1 - EARLIER_MANIFESTS_KEPT);
    world.note(`the pointer names ${number}, by ${by}`);
  }

  function remember(stored: Stored): void {
    const content = contentOf(stored);
    if (content !== undefined && !shards.has(content.sha256)) shards.set(content.sha256, content.content());
  }

  function onCollected(process: string, stored: Stored): void {
    const content = contentOf(stored);
    // What does not hold what its name says is no shard.
    if (content === undefined || !stored.name.endsWith(content.sha256.slice(0, 16))) return;
    const names = recent
      .slice(-EARLIER_MANIFESTS_KEPT)
      .flatMap(({ manifest }) => manifest.shards.map(({ name }) => name));
    if (names.includes(stored.name))
      fail('I5', `${process} deletes the shard ${stored.name}, which a late table names`);
    if (world.wallMs() - stored.createdMs < unusedMsMin)
      fail('I5', `${process} deletes the shard ${stored.name}, which is young`);
  }

  /** A key is revoked where no object gives it to anybody. */
  function settleRevoked(): void {
    const works = workingDigests();
    for (const digest of works) {
      known.add(digest);
      revoked.delete(digest);
    }
    for (const digest of known)
      if (!works.has(digest) && !revoked.has(digest)) revoked.set(digest, world.nowMs());
  }

  function workingDigests(): Set<string> {
    const works = new Set<string>();
    for (const { value, namespace, name } of store.list(`${CUSTOM}/apikeys`)) {
      const spec = isRecord(value.spec) ? value.spec : {};
      if (spec.disabled === true) continue;
      const imports: readonly unknown[] = Array.isArray(spec.imports) ? spec.imports : [];
      for (const one of imports) if (isRecord(one)) works.add(String(one.sha256));
      const secret = store.find(`/api/v1/namespaces/${namespace}/secrets/${name}-key`);
      const data = isRecord(secret?.value.data) ? secret.value.data : {};
      if (imports.length === 0 && typeof data.apiKey === 'string')
        works.add(hash('sha256', Buffer.from(data.apiKey, 'base64')));
    }
    return works;
  }

  function onSwap(life: GatewayLife, view: TableView): void {
    const before = ran.get(life);
    ran.set(life, view);
    const number = numberOf(view);
    if (before !== undefined && compareVersions(view, before) < 0) {
      fail('I2, I3', `${life.pod} goes back from ${numberOf(before)} to ${number}`);
    }
    const manifest = published.get(number);
    if (manifest === undefined) {
      fail('I1, I8', `${life.pod} takes ${number}, which no operator has published`);
      return;
    }
    const expected = contentOfTable(manifest);
    const difference = expected && differenceOf(view, expected, announced);
    if (difference !== undefined)
      fail('I1', `${life.pod} runs ${number}, and it is not what was published: ${difference}`);
    if (before !== undefined) onLoss(life, before, view);
  }

  /** Many at once, though the objects are there. Who begins to lead where the pointer is gone cannot know what was there. */
  function onLoss(life: GatewayLife, before: TableView, view: TableView): void {
    if (view.epoch !== before.epoch && begunAnew.has(view.epoch)) return;
    const works = workingDigests();
    const lost = [...before.keys.keys()].filter((digest) => !view.keys.has(digest) && works.has(digest));
    if (lost.length >= 20 && lost.length > before.keys.size / 2) {
      fail('I6', `${life.pod} lost ${lost.length} of ${before.keys.size} keys whose objects are there`);
    }
  }

  function contentOfTable({ shards: refs }: Manifest): Omit<TableContent, 'settings'> | undefined {
    const parts = refs.map(({ sha256 }) => shards.get(sha256));
    return {
      providers: parts.flatMap((part) => part?.providers ?? []),
      credentials: parts.flatMap((part) => part?.credentials ?? []),
      routes: parts.flatMap((part) => part?.routes ?? []),
      keys: parts.flatMap((part) => part?.keys ?? []),
    };
  }

  function onStatus(stored: Stored): void {
    const { status, metadata, spec } = stored.value;
    if (gateways === undefined || !isRecord(status) || status.observedGeneration !== metadata.generation)
      return;
    const now = programmedOf(status);
    if (now?.status !== 'True') return;
    // It says itself that another form serves.
    if (isHeld(status)) return;
    const earlier = store.findAt(stored.path, stored.version - 1)?.value.status;
    const where = isRecord(status.programmed) ? status.programmed.tableGeneration : undefined;
    const was = isRecord(earlier) ? programmedOf(earlier) : undefined;
    const wasWhere =
      isRecord(earlier) && isRecord(earlier.programmed) ? earlier.programmed.tableGeneration : undefined;
    // Of pods that a dead watch has not reported of, an operator cannot know.
    if (server.hasStalled()) return;
    // Said once, it is.
    if (was?.status === 'True' && wasWhere === where) return;
    for (const life of gateways.lives()) {
      if (!gateways.isReady(life.pod) || isFresh(life)) continue;
      const view = life.view;
      const why =
        view === undefined ? 'it runs no table' : whyNotHonoured(stored, isRecord(spec) ? spec : {}, view);
      if (why !== undefined)
        fail('Programmed', `${stored.path} is called programmed, but of ${life.pod}: ${why}`);
    }
  }

  function isFresh({ pod, startedMs }: GatewayLife): boolean {
    const isNew = world.nowMs() - (gateways?.reportedMs(pod) ?? 0) < untoldMs;
    return isNew || (startedMs > 0 && world.nowMs() - startedMs < freshMs);
  }

  function checkRevoked(): void {
    world.after(revocationLookMs, checkRevoked);
    if (gateways === undefined || revocationMs === undefined) return;
    for (const life of gateways.lives()) {
      const view = life.view;
      if (view === undefined || life.process.isFrozen()) continue;
      for (const [digest, sinceMs] of revoked) {
        const fromMs = Math.max(sinceMs, revocationFromMs, server.troubledMs());
        const forMs = Math.round(world.nowMs() - fromMs);
        if (forMs > revocationMs && view.keys.has(digest)) {
          fail('I7', `${life.pod} honours the key ${digest.slice(0, 16)} ${forMs} ms after it was revoked`);
        }
      }
    }
  }

  /** What a pointer says of keys holds at once, whatever becomes of its table. */
  function checkHeard(): void {
    for (const life of gateways?.lives() ?? []) {
      const { heard, view, pod, status } = life;
      if (
        heard === undefined ||
        view === undefined ||
        (judgedBy.get(life) === view && judgedOf.get(life) === heard)
      )
        continue;
      judgedBy.set(life, view);
      judgedOf.set(life, heard);
      const manifest = parsePointer(heard);
      if (manifest === undefined || manifest.minReader > READER_FORMAT || compareVersions(manifest, view) < 0)
        continue;
      if (status.state().rejected?.reason.includes('digest promises') === true) continue;
      for (const beginning of manifest.revocations) {
        for (const digest of view.keys.keys()) {
          if (digest.startsWith(beginning))
            fail('I7', `${pod} has heard that ${beginning} is revoked and honours it`);
        }
      }
    }
  }

  function parsePointer(heard: string): Manifest | undefined {
    if (!pointers.has(heard)) {
      pointers.set(heard, manifestSchema.safeParse(parseJson(Buffer.from(heard, 'base64').toString())).data);
    }
    return pointers.get(heard);
  }

  /** The table that all gateways should run; made again only where something has changed. */
  function wantedTable(): TableContent {
    if (wanted?.version !== wishesVersion) {
      const { table } = compile(snapshotOf(store.list), world.wallMs(), lastGood());
      wanted = {
        version: wishesVersion,
        table: {
          ...table,
          providers: table.providers.map(readProvider),
          routes: table.routes.map(readRoute),
        },
      };
    }
    return wanted.table;
  }

  /** What is said to serve in its last good form may do so, and nothing else. */
  function lastGood(): LastGood {
    const last = recent.at(-1)?.manifest;
    const content = last && contentOfTable(last);
    return {
      holdMs: HOLD_MS,
      provider(id) {
        const entry = content?.providers.find((one) => one.id === id);
        const credentials = content?.credentials.filter((one) => one.id.startsWith(`${id}/`)) ?? [];
        return entry && { entry, credentials };
      },
      route: (id) => content?.routes.find((one) => one.id === id),
      keyHolders: () => new Map(content?.keys.map(({ sha256, id }) => [sha256, id])),
      facts(kind, { metadata: { namespace, name } }) {
        const resource = `${CUSTOM}/${kind === 'Provider' ? 'providers' : 'modelroutes'}`;
        const status = store.find(objectPathOf(resource, namespace, name))?.value.status;
        return isRecord(status) && isHeld(status) ? {} : undefined;
      },
    };
  }

  function objects(): Stored[] {
    return ['providers', 'modelroutes', 'apikeys'].flatMap((plural) => store.list(`${CUSTOM}/${plural}`));
  }

  world.onStep(checkHeard);

  return {
    onSwap,
    watch(given) {
      gateways = given;
      settleRevoked();
    },
    expectRevocationsWithin(ms) {
      revocationMs = ms;
      revocationFromMs = world.nowMs();
      checkRevoked();
    },
    isReconciling: () =>
      objects().some(
        ({ value }) => isRecord(value.status) && conditionOf(value.status, 'Reconciling')?.status === 'True',
      ),
    expectQuiet() {
      isQuiet = true;
    },
    whyNotConverged() {
      const last = recent.at(-1)?.manifest;
      for (const life of gateways?.lives() ?? []) {
        const view = life.view;
        if (view === undefined) return `${life.pod} runs no table`;
        if (last === undefined || compareVersions(view, last) !== 0)
          return `${life.pod} is behind the pointer`;
        if (!gateways?.isReady(life.pod)) return `${life.pod} is not ready`;
      }
      if ((gateways?.lives().length ?? 0) < store.list(PODS).length) return 'a gateway is away';
      for (const { value, path } of objects()) {
        const status = isRecord(value.status) ? value.status : {};
        const programmed = programmedOf(status);
        const reported = isHeld(status) ? status : programmed;
        if (reported?.observedGeneration !== value.metadata.generation)
          return `${path} has no status of its form`;
        if (programmed?.status !== 'True' && programmed?.reason !== 'NotProgrammed')
          return `${path} is pending`;
      }
      for (const life of gateways?.lives() ?? []) {
        const view = life.view;
        const difference = view && differenceOf(view, wantedTable(), new Set());
        if (difference !== undefined) return `${life.pod} does not run what the objects say: ${difference}`;
      }
      return undefined;
    },
  };

  function isHeartbeat({ method, path, result }: SeenWrite): boolean {
    return (
      path === POINTER_PATH &&
      method === 'PUT' &&
      result.ok &&
      pointerText(result.stored.value) === recent.at(-1)?.text
    );
  }
}

/** The version of the pointer that a write wants to replace. */
function seenBy(body: unknown): number {
  const metadata = isRecord(body) && isRecord(body.metadata) ? body.metadata : {};
  return Number(metadata.resourceVersion ?? 0);
}

function whyNotHonoured(
  stored: Stored,
  spec: Readonly<Record<string, unknown>>,
  view: TableView,
): string | undefined {
  const id = `${stored.namespace}/${stored.name}`;
  if (stored.resource.endsWith('/apikeys')) {
    const imports: readonly unknown[] = Array.isArray(spec.imports) ? spec.imports : [];
    for (const one of imports) {
      const digest = isRecord(one) ? String(one.sha256) : '';
      if (spec.disabled === true && view.keys.has(digest)) return 'it honours a key that is disabled';
      if (spec.disabled !== true && !view.keys.has(digest)) return 'it does not know the key';
    }
    return undefined;
  }
  if (stored.resource.endsWith('/modelroutes')) {
    const route = view.routes.find(({ entry }) => entry.id === id);
    if (spec.suspended === true)
      return route === undefined ? undefined : 'it serves a route that is suspended';
    return route?.entry.model === spec.model ? undefined : 'it does not serve the model';
  }
  const provider = view.providers.get(id);
  return provider?.entry.baseUrl === spec.baseURL ? undefined : 'it does not know the address';
}

/** `mayLack`: beginnings of keys that may be missing. */
function differenceOf(
  view: TableView,
  table: Omit<TableContent, 'settings'>,
  mayLack: ReadonlySet<string>,
): string | undefined {
  const digests = new Set(table.keys.map(({ sha256 }) => sha256));
  for (const digest of view.keys.keys())
    if (!digests.has(digest)) return `the key ${digest.slice(0, 16)} is none of it`;
  for (const digest of digests) {
    if (view.keys.has(digest) || mayLack.has(digest.slice(0, REVOCATION_CHARS))) continue;
    return `the key ${digest.slice(0, 16)} is missing`;
  }
  const routes = differing(
    table.routes,
    view.routes.map(({ entry }) => entry),
  );
  const providers = differing(
    table.providers,
    [...view.providers.values()].map(({ entry }) => entry),
  );
  return routes ?? providers;
}

function differing(
  wanted: readonly { readonly id: string }[],
  found: readonly { readonly id: string }[],
): string | undefined {
  const texts = new Map(found.map((entry) => [entry.id, textOf(entry)]));
  for (const entry of wanted) if (texts.get(entry.id) !== textOf(entry)) return `${entry.id} is another`;
  return wanted.length === found.length ? undefined : `there are ${found.length} instead of ${wanted.length}`;
}

const texts = new WeakMap<object, string>();

function textOf(entry: object): string {
  const text = texts.get(entry) ?? JSON.stringify(entry);
  texts.set(entry, text);
  return text;
}

const readProvider = makeReader(providerEntrySchema);
const readRoute = makeReader(routeEntrySchema);

/** Gives an entry as a gateway reads it. A compile gives the same entry again where nothing has changed. */
function makeReader<T extends object>(schema: { parse(entry: unknown): T }): (entry: T) => T {
  const known = new WeakMap<T, T>();
  return (entry) => {
    const read = known.get(entry) ?? schema.parse(entry);
    known.set(entry, read);
    return read;
  };
}

function isWish(path: string, resource: string): boolean {
  return (
    resource.startsWith(CUSTOM) ||
    resource === 'v1/namespaces' ||
    (resource === SECRETS && !path.includes(`/${TABLE_NAMESPACE}/`))
  );
}

function snapshotOf(list: (resource: string) => readonly Stored[]): Snapshot {
  const raw = (kind: Kind, plural: string) =>
    list(`${CUSTOM}/${plural}`).map((stored) => wishOf(kind, stored));
  return {
    providers: raw('Provider', 'providers'),
    modelRoutes: raw('ModelRoute', 'modelroutes'),
    apiKeys: raw('ApiKey', 'apikeys'),
    secrets: list(SECRETS)
      .filter(({ namespace }) => namespace !== TABLE_NAMESPACE)
      .map(({ value }): SecretRecord => {
        const record = readSecret(value);
        return readPlace(value).view === undefined
          ? { ...record, labels: {}, annotations: {}, data: {} }
          : record;
      }),
    namespaces: list('v1/namespaces').map(({ value, name }) => ({
      name,
      labels: value.metadata.labels ?? {},
    })),
    configMaps: [],
    platform: PLATFORM,
  };
}

const wishes = new WeakMap<Stored, RawObject>();

/** The same for the same, so that a compile need not look again. */
function wishOf(kind: Kind, stored: Stored): RawObject {
  const wish = wishes.get(stored) ?? holdObject(kind, stored.value).wish;
  wishes.set(stored, wish);
  return wish;
}

interface ShardFacts {
  readonly sha256: string;
  content(): Partial<Omit<TableContent, 'settings'>>;
}

const shardFacts = new WeakMap<Stored, ShardFacts | undefined>();

function contentOf(stored: Stored): ShardFacts | undefined {
  if (!shardFacts.has(stored)) shardFacts.set(stored, readShard(stored));
  return shardFacts.get(stored);
}

function readShard({ value }: Stored): ShardFacts | undefined {
  const packed = isRecord(value.data) ? value.data[SHARD_DATA] : undefined;
  if (typeof packed !== 'string') return undefined;
  let plain: Buffer;
  try {
    plain = zstdDecompressSync(Buffer.from(packed, 'base64'));
  } catch {
    return undefined;
  }
  const kind = value.metadata.labels?.['penstock.dev/shard'];
  return {
    sha256: hash('sha256', plain),
    content() {
      const data = JSON.parse(plain.toString());
      return isShardKind(kind) ? shardContentSchemas[kind].parse(data) : {};
    },
  };
}

function isShardKind(kind: string | undefined): kind is ShardRef['kind'] {
  return kind !== undefined && Object.hasOwn(shardContentSchemas, kind);
}

function pointerText(value: KubeObject): string {
  const data = isRecord(value.data) ? value.data : {};
  return Buffer.from(String(data[POINTER_DATA.manifest] ?? ''), 'base64').toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function numberOf({ epoch, generation }: { readonly epoch: number; readonly generation: number }): string {
  return `${epoch}/${generation}`;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function pathOfShard(name: string): string {
  return `/api/v1/namespaces/${TABLE_NAMESPACE}/secrets/${name}`;
}

function holderOf({ spec }: KubeObject): string | undefined {
  return isRecord(spec) && typeof spec.holderIdentity === 'string' ? spec.holderIdentity : undefined;
}

function programmedOf(status: Readonly<Record<string, unknown>>) {
  return conditionOf(status, 'Programmed');
}

function isHeld(status: Readonly<Record<string, unknown>>): boolean {
  const degraded = conditionOf(status, 'Degraded');
  return degraded?.status === 'True' && degraded.reason === 'LastKnownGood';
}

function conditionOf(status: Readonly<Record<string, unknown>>, type: string) {
  const conditions: readonly unknown[] = Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.find((one): one is Record<string, unknown> => isRecord(one) && one.type === type);
}
