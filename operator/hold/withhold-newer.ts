// Withholds entries that some gateway pod cannot read: their last form that all pods can read is published instead. A table that a pod
// cannot read would keep every other change from it, revocations too.

import {
  neededFormat,
  type ProviderEntry,
  READER_FORMAT,
  type RouteEntry,
  type TableContent,
} from '../../core/contract/routing-table.ts';
import { compareText } from '../compile/order.ts';
import { withProviders } from '../publish/unfit-entry.ts';
import { providerOf } from './forms.ts';
import type { Grants } from './pin-content.ts';
import type { Wait, Waits } from './waits.ts';

/** A ready gateway pod. */
export interface Reader {
  readonly name: string;
  /** The newest table format that it reads; undefined while it has not said. */
  readonly maxFormat: number | undefined;
}

interface WithholdInput {
  readonly last: TableContent | undefined;
  readonly next: TableContent;
  readonly readers: readonly Reader[];
  /** Asked where an earlier form is to be used on. */
  grants(): Grants;
}

interface FittingContent {
  readonly content: TableContent;
  readonly waits: Waits;
}

/** Every gateway can read entries of this format. */
const OLDEST_FORMAT = 1;

export function withholdNewer({ last, next, readers, grants }: WithholdInput): FittingContent {
  const withheld = next.providers.flatMap((entry) => {
    const reader = whoCannotRead(entry, last, readers);
    return reader === undefined ? [] : [{ entry, reader }];
  });
  if (withheld.length === 0) return { content: next, waits: new Map() };

  const waits = new Map<string, Wait>();
  const ids = new Set(withheld.map(({ entry }) => entry.id));
  const earlier = withheld.flatMap(({ entry, reader }) => {
    const form = earlierForm(entry.id, last, readers, grants());
    const then =
      form === undefined ? 'it is out of service until then' : 'the earlier form serves until then';
    waits.set(`Provider/${entry.id}`, {
      status: 'False',
      reason: 'Pending',
      message: `${describe(reader)}, and the current form of the object needs format ${neededFormat(entry)}; upgrade the gateways, ${then}`,
    });
    return form ?? [];
  });
  const providers = [
    ...next.providers.filter(({ id }) => !ids.has(id)),
    ...earlier.map(({ entry }) => entry),
  ];
  const credentials = [
    ...next.credentials.filter((credential) => !ids.has(providerOf(credential))),
    ...earlier.flatMap(({ credentials: owned }) => owned),
  ];
  const routes = withProviders(next.routes, new Set(providers.map(({ id }) => id)));
  for (const [id, message] of lostRoutes(next.routes, routes)) {
    waits.set(`ModelRoute/${id}`, { status: 'False', reason: 'Pending', message });
  }
  const byId = (a: { readonly id: string }, b: { readonly id: string }) => compareText(a.id, b.id);
  return {
    content: { ...next, providers: providers.sort(byId), credentials: credentials.sort(byId), routes },
    waits,
  };
}

/** The first pod that keeps the entry out. */
function whoCannotRead(
  entry: ProviderEntry,
  last: TableContent | undefined,
  readers: readonly Reader[],
): Reader | undefined {
  const needed = neededFormat(entry);
  if (needed <= OLDEST_FORMAT) return undefined;
  const old = readers.find(({ maxFormat }) => maxFormat !== undefined && maxFormat < needed);
  if (old !== undefined) return old;
  // Pods that have not said anything yet do not take away what is in use: an operator that starts has heard none.
  const inUse = last?.providers.find(({ id }) => id === entry.id);
  if (inUse !== undefined && neededFormat(inUse) >= needed) return undefined;
  return readers.find(({ maxFormat }) => maxFormat === undefined);
}

function earlierForm(
  id: string,
  last: TableContent | undefined,
  readers: readonly Reader[],
  grants: Grants,
): ReturnType<Grants['provider']> {
  const entry = last?.providers.find((one) => one.id === id);
  const readByAll = Math.min(READER_FORMAT, ...readers.map(({ maxFormat = OLDEST_FORMAT }) => maxFormat));
  if (last === undefined || entry === undefined || neededFormat(entry) > readByAll) return undefined;
  return grants.provider({
    entry,
    credentials: last.credentials.filter((credential) => providerOf(credential) === id),
  });
}

function describe({ name, maxFormat }: Reader): string {
  return maxFormat === undefined
    ? `gateway pod ${name} has not reported its table format`
    : `gateway pod ${name} reads tables up to format ${maxFormat}`;
}

function* lostRoutes(
  before: readonly RouteEntry[],
  after: readonly RouteEntry[],
): Iterable<[string, string]> {
  const left = new Map(after.map((route) => [route.id, route]));
  for (const route of before) {
    const now = left.get(route.id);
    if (now === route) continue;
    const lost = route.targets.filter((target) => now?.targets.includes(target) !== true);
    const names = lost.map(({ name, provider }) => `target ${name} (Provider ${provider})`);
    yield [
      route.id,
      `${names.join(', ')} waits until every gateway pod can read its Provider; see the condition Programmed there`,
    ];
  }
}
