// How does the page of keys show one ApiKey? Pure: from the object, and the ledger's spend of it.

import { z } from 'zod';
import { isRecord } from '../../core/kube/object.ts';
import type { KeyBudget, KeyRow, KeyState } from '../api-types.ts';
import { periodStartMs } from './period-start.ts';

export interface KeySpend {
  readonly lastUsedAt: string | null;
  /** Dollars. */
  readonly day: string | null;
  readonly week: string | null;
  readonly month: string | null;
  readonly total: string | null;
}

const text = z.string().catch('');
const optionalText = z.string().nullish().catch(null);
/** The ledger is asked which keys were used in so many: a month, and the day that it begins with. */
export const ledgerDays = 32;
/** A missing member, or one that is not an object, counts as empty. */
const orEmpty = (value: unknown): unknown => (isRecord(value) ? value : {});
const condition = z.object({ type: text, status: text, reason: text, message: text });
const keySchema = z.object({
  metadata: z.object({
    namespace: text,
    name: z.string(),
    uid: text,
    creationTimestamp: text,
    resourceVersion: optionalText,
    generation: z.number().catch(0),
  }),
  spec: z.preprocess(
    orEmpty,
    z.object({
      displayName: optionalText,
      owner: z.object({ name: optionalText, email: optionalText, team: optionalText }).nullish().catch(null),
      disabled: z.boolean().catch(false),
      expiresAt: optionalText,
      imports: z.array(z.object({ hint: optionalText, notAfter: optionalText })).catch([]),
      models: z
        .object({ allow: z.array(z.string()).catch([]), deny: z.array(z.string()).catch([]) })
        .catch({ allow: [], deny: [] }),
      limits: z.record(z.string(), z.unknown()).nullish().catch(null),
      budgets: z.array(z.object({ period: text, limit: text, action: z.string().catch('Block') })).catch([]),
    }),
  ),
  status: z.preprocess(
    orEmpty,
    z.object({
      keyHint: optionalText,
      expiresAt: optionalText,
      observedGeneration: z.number().catch(0),
      conditions: z.array(condition).catch([]),
      usage: z
        .object({
          lastUsedAt: optionalText,
          periods: z.array(z.object({ period: text, start: optionalText, spend: optionalText })).catch([]),
        })
        .nullish()
        .catch(null),
    }),
  ),
});
type ParsedKey = z.infer<typeof keySchema>;

/**
 * Undefined where it is no object of the API.
 *
 * @param ledger Undefined: its word is not there, and the status tells what it knows of the periods that this moment is in.
 */
export function keyRowOf(
  object: unknown,
  ledger: ReadonlyMap<string, KeySpend> | undefined,
  nowMs: number,
): KeyRow | undefined {
  const parsed = keySchema.safeParse(object);
  if (!parsed.success) return undefined;
  const { metadata, spec, status } = parsed.data;
  const { state, reason, message } = stateOf(parsed.data);
  const used = ledger?.get(`${metadata.namespace}/${metadata.name}`);
  const periods = new Map(
    (status.usage?.periods ?? [])
      .filter(({ period, start }) => !start || Date.parse(start) >= periodStartMs(period, nowMs))
      .map(({ period, spend }) => [period, spend ?? null]),
  );
  // The ledger tells of all that were used in the last month: of another one it says that there was nothing.
  const unused = ledger === undefined ? null : '0';
  const isOlder = !(Date.parse(metadata.creationTimestamp) > nowMs - ledgerDays * 86_400_000);
  const spends = {
    Day: used?.day ?? unused ?? periods.get('Day') ?? null,
    Week: used?.week ?? unused ?? periods.get('Week') ?? null,
    Month: used?.month ?? unused ?? periods.get('Month') ?? null,
    Total: used?.total ?? periods.get('Total') ?? (isOlder ? null : unused),
  };
  const { Day: day, Month: month, Total: total } = spends;
  const hint = status.keyHint || spec.imports.at(-1)?.hint || '';
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    displayName: spec.displayName ?? '',
    owner: spec.owner?.name || spec.owner?.email || spec.owner?.team || '',
    team: spec.owner?.team ?? '',
    hint,
    prefix: hint.split('…')[0] ?? '',
    createdAt: metadata.creationTimestamp,
    expiresAt: status.expiresAt || spec.expiresAt || null,
    lastUsedAt: used?.lastUsedAt ?? status.usage?.lastUsedAt ?? null,
    spend: day === null && month === null && total === null ? null : { day, month, total },
    budgets: spec.budgets.map((budget): KeyBudget => ({ ...budget, spend: spendIn(spends, budget.period) })),
    limits: spec.limits ?? null,
    models: spec.models,
    state,
    reason,
    message,
    isImported: spec.imports.length > 0,
  };
}

function spendIn(spends: Readonly<Record<string, string | null>>, period: string): string | null {
  return Object.hasOwn(spends, period) ? (spends[period] ?? null) : null;
}

/** In the order of `standingOf` in the pages, which says the same of one key in more words. */
function stateOf({ metadata, spec, status }: ParsedKey): {
  state: KeyState;
  reason: string;
  message: string;
} {
  const find = (type: string) => status.conditions.find((one) => one.type === type);
  const findTrue = (type: string) =>
    status.conditions.find((one) => one.type === type && one.status === 'True');
  const said = (state: KeyState, one: z.infer<typeof condition> | undefined) => ({
    state,
    reason: one?.reason ?? '',
    message: one?.message ?? '',
  });
  const ready = find('Ready');
  // A status from before an edit says nothing about the present form.
  if (ready === undefined || status.observedGeneration < metadata.generation)
    return said(spec.disabled ? 'Disabling' : 'Pending', undefined);
  if (spec.disabled) {
    const programmed = find('Programmed');
    // Ready is said of it once every gateway has it out of service; what has a fault besides is in no table.
    return ready.status === 'True' || programmed?.reason === 'NotProgrammed'
      ? said('Disabled', findTrue('Disabled'))
      : said('Disabling', programmed);
  }
  const expired = findTrue('Expired');
  if (expired !== undefined) return said('Expired', expired);
  const conflicted = findTrue('Conflicted');
  if (conflicted !== undefined) return said('Rejected', conflicted);
  if (ready.status === 'True') {
    const [exhausted, soon] = [findTrue('BudgetExhausted'), findTrue('ExpiringSoon')];
    if (exhausted !== undefined) return said('BudgetUsedUp', exhausted);
    return soon === undefined ? said('Ready', ready) : said('ExpiresSoon', soon);
  }
  return said(findTrue('Reconciling') === undefined ? 'Rejected' : 'Pending', ready);
}
