// What does a ledger look like after a month of many tenants? Records of a few busy keys and many quiet ones, the same in every run.

import type { LedgerRecord } from '../../core/contract/ledger-record.ts';
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
  onPage: (records: number) => void = () => {},
): Promise<void> {
  let page: Entry[] = [];
  let records = 0;
  const take = async (): Promise<void> => {
    records += page.length;
    await store.take({ source: 'pod', cursor: `c.${records}`, entries: page, asides: [] }, extent.endMs);
    page = [];
    onPage(records);
  };
  for (const record of makeRecords(extent)) {
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
