// What does a ledger look like after a month of many tenants? Records of a few busy keys and many quiet ones, the same in every run.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
import type { Refusal, RefusalSums } from '../../core/contract/refusal.ts';
import type { Entry, LedgerStore } from '../../ledger/store/store.ts';
import { makeRandom } from '../simulation/random.ts';

export interface Extent {
  readonly records: number;
  readonly keys: number;
  readonly namespaces: number;
  /** So many days before the end began the first of them. */
  readonly days: number;
  /** Unix milliseconds of the last record. */
  readonly endMs: number;
}

const models = 20;
const providers = 5;
const pageRecords = 2_000;
const template: Omit<
  LedgerRecord,
  'id' | 'request' | 'attempt' | 'startedAt' | 'namespace' | 'apiKey' | 'route' | 'model' | 'upstreamModel'
> = {
  durationMs: 2_345,
  tableGeneration: 4,
  target: 'main',
  provider: 'platform/p0',
  providerKey: 'main',
  clientDialect: 'openai-chat',
  upstreamDialect: 'openai-chat',
  isStream: true,
  outcome: 'answered',
  status: 200,
  usage: { input: 1_200, cachedInput: 200, cacheWrite: 0, output: 300, reasoning: 50 },
  isEstimated: false,
  price: { input: 250_000, output: 2_000_000, source: 'catalog' },
  costPicodollars: 900_000_000,
  payer: 'tenant',
  owner: { name: 'A person', email: 'person@example.com', team: 'a team' },
  metadata: { project: 'a project', environment: 'production' },
};

/** Taken in pages, in the order of their starts, as journals bring them. */
export async function fillLedger(
  store: Pick<LedgerStore, 'take'>,
  extent: Extent,
  of: Iterable<LedgerRecord> = makeRecords(extent),
): Promise<void> {
  let page: Entry[] = [];
  const take = async (): Promise<void> => {
    await store.take(
      { source: 'pod', cursor: `c.${page[0]?.record.id}`, entries: page, asides: [] },
      extent.endMs,
    );
    page = [];
  };
  for (const record of of) {
    page.push({ record, line: JSON.stringify(record) });
    if (page.length === pageRecords) await take();
  }
  if (page.length > 0) await take();
}

/** One in thirty fails before its first word, and another provider answers; one in a hundred is not answered at all. */
export function* makeRecords({ records, keys, namespaces, days, endMs }: Extent): Generator<LedgerRecord> {
  const { next } = makeRandom(4);
  const spanMs = days * 86_400_000;
  for (let at = 0; at < records; ) {
    // Half of all calls are of an eighth of the keys, and a key calls few models.
    const key = Math.floor(keys * next() ** 3);
    const namespace = `team-${String(key % namespaces).padStart(3, '0')}`;
    const model = (key * 7 + Math.floor(3 * next() ** 2)) % models;
    const startMs = endMs - spanMs + Math.floor((at / records) * spanMs);
    const luck = next();
    const attempts = luck < 1 / 30 ? 2 : 1;
    for (let attempt = 1; attempt <= attempts && at < records; attempt++, at++) {
      const hasFailed = attempt < attempts || luck > 0.99;
      yield {
        ...template,
        id: `req_${String(at - attempt + 1).padStart(26, '0')}.${attempt}`,
        request: `req_${String(at - attempt + 1).padStart(26, '0')}`,
        attempt,
        startedAt: new Date(startMs + attempt - 1).toISOString(),
        namespace,
        apiKey: `${namespace}/key-${String(key).padStart(5, '0')}`,
        route: `platform/model-${model}`,
        model: `penstock/model-${model}`,
        upstreamModel: `upstream-model-${model}`,
        provider: `platform/p${(model + attempt - 1) % providers}`,
        ...(hasFailed
          ? { outcome: 'failed', payer: 'platform', status: 500, failure: 'status_500' }
          : { firstContentMs: 200 + Math.floor(2_000 * next() ** 4) }),
      };
    }
  }
}

/**
 * What hardly occurs: each hour a record of a namespace, key, model and provider of its own; each day one of the busiest key, of a model and
 * provider of its own; and a single one that was interrupted.
 */
export function* makeSeldom({ days, endMs }: Extent): Generator<LedgerRecord> {
  const firstMs = endMs - days * 86_400_000;
  for (const [name, stepMs] of [
    ['hourly', 3_600_000],
    ['daily', 86_400_000],
    ['once', days * 86_400_000],
  ] as const) {
    const [namespace, key] = name === 'daily' ? ['team-000', 'key-00000'] : [`seldom-${name}`, 'key'];
    for (let ms = firstMs; ms < endMs; ms += stepMs) {
      const request = `req_${name}_${ms}`;
      yield {
        ...template,
        ...{ id: `${request}.1`, request, attempt: 1, startedAt: new Date(ms).toISOString() },
        ...{ namespace, apiKey: `${namespace}/${key}`, route: `seldom/${name}`, model: `seldom/${name}` },
        ...{ provider: `seldom/${name}`, upstreamModel: `seldom-${name}` },
        ...(name === 'once' ? { outcome: 'interrupted', payer: 'platform' } : {}),
      };
    }
  }
}

type Reason = Pick<Refusal, 'status' | 'code'>;
const reasons: readonly [Reason, ...Reason[]] = [
  { status: 429, code: 'rate_limit_exceeded' },
  { status: 429, code: 'insufficient_quota' },
  { status: 404, code: 'model_not_found' },
  { status: 503, code: 'overloaded' },
];

/** Refusals with a line of their own, one in five of a key that is not known, and the sums of each minute; as many again were only counted. */
export function* makeRefusals(
  count: number,
  { keys, namespaces, days, endMs }: Extent,
): Generator<Refusal | RefusalSums> {
  const { next, pick } = makeRandom(5);
  const spanMs = days * 86_400_000;
  let minute: { ms: number; counts: RefusalSums['counts'] } = { ms: 0, counts: [] };
  const sumsOf = ({ ms, counts }: typeof minute): RefusalSums => ({
    ...{ kind: 'refusal-sums', id: `w.${ms}`, at: new Date(ms).toISOString(), windowMs: 10_000, counts },
  });
  for (let at = 0; at < count; at++) {
    const atMs = endMs - spanMs + Math.floor((at / count) * spanMs);
    const key = Math.floor(keys * next() ** 3);
    const namespace = `team-${String(key % namespaces).padStart(3, '0')}`;
    const refused =
      next() < 0.2
        ? { status: 401, code: 'invalid_api_key' }
        : {
            ...{ namespace, apiKey: `${namespace}/key-${String(key).padStart(5, '0')}` },
            ...{ model: `penstock/model-${key % models}`, ...pick(reasons) },
          };
    const ms = atMs - (atMs % 60_000);
    if (ms !== minute.ms && minute.counts.length > 0) yield sumsOf(minute);
    if (ms !== minute.ms) minute = { ms, counts: [] };
    minute.counts.push({ ...refused, count: 2 });
    const id = `req_r${String(at).padStart(25, '0')}`;
    yield { kind: 'refusal', id, at: new Date(atMs).toISOString(), ...refused } satisfies Refusal;
  }
  if (minute.counts.length > 0) yield sumsOf(minute);
}

/** As `fillLedger`, of refusals. */
export async function fillRefusals(
  store: Pick<LedgerStore, 'take'>,
  count: number,
  extent: Extent,
): Promise<void> {
  let lines: (Refusal | RefusalSums)[] = [];
  let cursor = 0;
  const take = async (): Promise<void> => {
    const isRefusal = (line: Refusal | RefusalSums): line is Refusal => line.kind === 'refusal';
    const refusals = lines.filter(isRefusal).map((refusal) => ({ refusal, line: JSON.stringify(refusal) }));
    const refusalSums = lines.flatMap((sums) =>
      isRefusal(sums) ? [] : [{ sums, line: JSON.stringify(sums) }],
    );
    const page = { source: 'refusing', cursor: `r.${cursor++}`, entries: [], asides: [] };
    await store.take({ ...page, refusals, refusalSums }, extent.endMs);
    lines = [];
  };
  for (const line of makeRefusals(count, extent)) if (lines.push(line) === pageRecords) await take();
  if (lines.length > 0) await take();
}
