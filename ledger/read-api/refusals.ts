// Which callers were refused, how often and why? The sums of gateways, and how often the groups of other sums were refused.

import { z } from 'zod';
import { INTERVALS, type Stretch } from '../store/spans.ts';
import { storableName } from '../store/storable.ts';
import type { Dimension, Filter, LedgerStore, RefusalDimension } from '../store/store.ts';
import { REFUSAL_DIMENSIONS } from '../store/store.ts';
import { moreAnswer, type RefusedGroups } from './answers.ts';
import { badParameter } from './errors.ts';
import { type Asked, readParameters } from './parameters.ts';

type Store = Pick<LedgerStore, 'refusals'>;

/** What only refusals have. */
const ownSchema = z.object({
  status: z
    .string()
    .regex(/^[1-5]\d\d$/, 'must be an HTTP status such as 429')
    .optional(),
  code: z.string().min(1, 'must not be empty').max(100, 'must be at most 100 characters').optional(),
});
const own = ['status', 'code'] as const;

/** As all questions are read, with the names that only refusals have. @throws {ApiError} that names the parameter. */
export function readRefusalParameters(search: URLSearchParams, nowMs: number): Asked {
  const words = (search.get('by') ?? '').split(',').flatMap((word) => word.trim() || []);
  const isDimension = (word: string): word is RefusalDimension =>
    REFUSAL_DIMENSIONS.some((name) => name === word);
  const by = words.filter(isDimension);
  if (by.length < words.length)
    throw badParameter(`by: must be of ${REFUSAL_DIMENSIONS.join(', ')}, with commas between them`);
  const parsed = ownSchema.safeParse(Object.fromEntries(search));
  if (!parsed.success)
    throw badParameter(`${String(parsed.error.issues[0]?.path[0])}: ${parsed.error.issues[0]?.message}`);
  for (const name of own)
    if (search.getAll(name).length > 1) throw badParameter(`${name}: is given more than once`);
  const isOwn = (name: string) => own.some((one) => one === name);
  const others = new URLSearchParams([...search].filter(([name]) => name !== 'by' && !isOwn(name)));
  others.set('by', by.filter((name) => !isOwn(name)).join(','));
  const asked = readParameters(others, nowMs);
  if (new Set(by).size < by.length) throw badParameter('by: names a dimension twice');
  const { status, code } = parsed.data;
  const { namespace, apiKey, model } = asked.where;
  const where = {
    namespace,
    apiKey,
    model,
    status,
    code: code === undefined ? undefined : storableName(code),
  };
  const { interval } = asked;
  const inOrder = interval === undefined ? by : [interval, ...by.filter((name) => name !== interval)];
  return { ...asked, refusals: { by: inOrder, where } };
}

export async function refusalsAnswer(store: Store, asked: Asked) {
  const { from, to, interval, limit, offset, refusals = { by: [], where: {} } } = asked;
  const query = { from, to, where: refusals.where };
  const [rows, [total]] = await Promise.all([
    store.refusals({ ...query, by: refusals.by, limit: limit + 1, offset }),
    store.refusals({ ...query, by: [], limit: 1 }),
  ]);
  return {
    ...{ from, to },
    ...(interval === undefined ? {} : { interval }),
    total: { refused: total?.refused ?? 0 },
    rows: rows.slice(0, limit).map(({ group, refused }) => ({ ...knownOf(group), refused })),
    ...moreAnswer(rows.length, { limit, offset }),
  };
}

/** A key that was not known has no name, nor has its namespace. */
function knownOf(group: Readonly<Partial<Record<RefusalDimension, string>>>) {
  return Object.fromEntries(
    Object.entries(group)
      .map(([name, value]) => [name, name === 'status' ? Number(value) : value])
      .filter(([, value]) => value !== ''),
  );
}

/** Dimensions that sums of attempts and of refusals share. */
const shared = [...INTERVALS, 'namespace', 'apiKey', 'model'] as const;
type Shared = (typeof shared)[number];
const isShared = (name: string): name is Shared => shared.some((one) => one === name);

/** More groups are not compared with those of attempts. */
const groupsMax = 20_000;

/** How often groups of such sums were refused; undefined: refusals are not known by such names, or are too many. */
export async function refusedBy(
  store: Store,
  { from, to }: Stretch,
  by: readonly Dimension[],
  where: Filter,
): Promise<RefusedGroups | undefined> {
  const names = Object.entries(where).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (!by.every(isShared) || !names.every(isShared)) return undefined;
  const { namespace, apiKey, model } = where;
  const groups = await store.refusals({
    from,
    to,
    by,
    where: { namespace, apiKey, model },
    limit: groupsMax + 1,
  });
  if (groups.length > groupsMax) return undefined;
  const placeOf = (group: RefusedGroups['groups'][number]['group']) =>
    JSON.stringify(by.map((name) => group[name]));
  const counts = new Map(groups.map(({ group, refused }) => [placeOf(group), refused]));
  return { of: (group) => counts.get(placeOf(group)) ?? 0, groups };
}
