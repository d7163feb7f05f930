// What objects are there? A list in pages, so that fifty thousand of them never stand in one body.

import { type KubeClient, KubeError } from './client.ts';
import { isRecord, type KubeObject, parseObject } from './object.ts';

export interface ListQuery {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

interface ListOptions {
  readonly client: KubeClient;
  /** Of the collection. */
  readonly path: string;
  readonly query?: ListQuery | undefined;
  /** The objects come with their metadata alone. */
  readonly metadataOnly?: boolean | undefined;
  /** Objects in a page, default 500. */
  readonly limit?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Called once for each page, in order. Index 0 again: the list restarts, and earlier pages are void. */
  onPage(items: readonly KubeObject[], index: number): void;
}

interface ListResult {
  /** From here a watch misses nothing. */
  readonly resourceVersion: string;
  readonly objects: number;
}

const metadataListAccept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
/** Compaction between two pages is luck; three times in one list means it takes too long to ever succeed. */
const restartsMax = 3;

/** @throws {KubeError} also where the pages have expired again and again. */
export async function listPages(options: ListOptions): Promise<ListResult> {
  let limit = options.limit ?? 500;
  let position: string | undefined;
  let index = 0;
  let objects = 0;
  let restarts = 0;
  for (;;) {
    let page: Page;
    try {
      page = parsePage(await options.client.call(buildRequest(options, limit, position)), options.path);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.reason === 'BodyTooLarge' && limit > 1) {
        // Big objects: the same place again with fewer of them.
        limit = Math.max(1, Math.floor(limit / 5));
        continue;
      }
      if (error.status !== 410 || position === undefined || restarts === restartsMax) throw error;
      restarts += 1;
      position = undefined;
      index = 0;
      objects = 0;
      continue;
    }
    options.onPage(page.items, index);
    index += 1;
    objects += page.items.length;
    if (page.position === undefined) return { resourceVersion: page.resourceVersion, objects };
    position = page.position;
  }
}

/** For what is known to be few. */
export async function listAll(
  options: Omit<ListOptions, 'onPage'>,
): Promise<{ readonly items: readonly KubeObject[]; readonly resourceVersion: string }> {
  const items: KubeObject[] = [];
  const { resourceVersion } = await listPages({
    ...options,
    onPage(page, index) {
      if (index === 0) items.length = 0;
      items.push(...page);
    },
  });
  return { items, resourceVersion };
}

function buildRequest(options: ListOptions, limit: number, position: string | undefined) {
  const { path, query, metadataOnly, timeoutMs, signal } = options;
  return {
    method: 'GET' as const,
    path,
    query: { ...query, limit, continue: position },
    ...(metadataOnly === true ? { accept: metadataListAccept } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal === undefined ? {} : { signal }),
  };
}

interface Page {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** Where the next page begins. */
  readonly position: string | undefined;
}

function parsePage(body: unknown, path: string): Page {
  const garbled = (what: string) => new KubeError(200, 'Garbled', `GET ${path}: ${what}`);
  if (!isRecord(body) || !isRecord(body.metadata)) throw garbled('the answer is no list');
  const { resourceVersion, continue: position } = body.metadata;
  if (typeof resourceVersion !== 'string') throw garbled('the list has no resourceVersion');
  // An empty list of metadata says null.
  const found = body.items ?? [];
  if (!Array.isArray(found)) throw garbled('the items of the list are no list');
  try {
    const items = found.map(parseObject);
    return {
      items,
      resourceVersion,
      position: typeof position === 'string' && position !== '' ? position : undefined,
    };
  } catch (error) {
    throw garbled(error instanceof Error ? error.message : 'an item is no object');
  }
}
