// Which ApiKey does the form describe? Pure: the checks of the API server, before anything is sent.

import { LIMITS, type LimitMember, limitMembers } from '../words/choices.ts';
import type { Formats } from '../words/format.ts';
import type { ApiKey, Budget, Limits } from '../words/kube.ts';
import { namePattern, namespacePattern, namespaceProblem } from '../words/names.ts';

export interface KeyForm extends Readonly<Record<LimitMember, string>> {
  readonly namespace: string;
  readonly name: string;
  readonly displayName: string;
  readonly ownerName: string;
  readonly ownerEmail: string;
  readonly team: string;
  /** As a browser's field has it: `2026-12-31`; the key works until that day has begun, in UTC. */
  readonly expires: string;
  /** Ids, or beginnings with a `*`, between commas or spaces. */
  readonly allow: string;
  readonly budgets: readonly BudgetForm[];
}

export interface BudgetForm {
  /** Dollars; empty without a budget. */
  readonly limit: string;
  readonly period: Budget['period'];
  readonly action: 'Block' | 'Warn';
  /** As in the object, with what the form does not show; undefined: it is new. */
  readonly from?: Budget;
}

export const PERIODS: readonly Budget['period'][] = ['Day', 'Week', 'Month', 'Total'];

/** For a period that has no budget yet, the month before the others. */
export function newBudget(others: readonly BudgetForm[]): BudgetForm {
  const isFree = (period: Budget['period']) => others.every((other) => other.period !== period);
  return { limit: '', period: (['Month', ...PERIODS] as const).find(isFree) ?? 'Month', action: 'Block' };
}

export const emptyKeyForm: KeyForm = {
  namespace: '',
  name: '',
  displayName: '',
  ownerName: '',
  ownerEmail: '',
  team: '',
  expires: '',
  allow: '',
  ...perLimit(() => ''),
  budgets: [newBudget([])],
};

export type Problems<Form> = { readonly [Name in keyof Form]?: string };
export type KeyProblems = Problems<Omit<KeyForm, 'budgets'>> & {
  /** One for each budget; left out without problems. */
  readonly budgets?: readonly Problems<BudgetForm>[];
};

const modelPattern = /^(\*|[A-Za-z0-9][A-Za-z0-9._:@+/-]*\*?)$/;
const dollarsPattern = /^(0|[1-9][0-9]{0,8})([.][0-9]{1,6})?$/;

/** Empty: everything may be sent. */
export function checkKeyForm(form: KeyForm, nowMs: number): KeyProblems {
  const problems: { -readonly [Name in keyof KeyProblems]?: KeyProblems[Name] } = {};
  if (!namespacePattern.test(form.namespace)) problems.namespace = namespaceProblem(form.namespace);
  if (form.name === '') problems.name = 'Enter a name, such as ci-bot.';
  else if (!namePattern.test(form.name))
    problems.name = 'Only lower-case letters, digits and "-", with a letter or digit at both ends: ci-bot.';
  else if (form.name.length > 200) problems.name = 'At most 200 characters.';
  for (const name of ['displayName', 'ownerName', 'team'] as const)
    if (form[name].length > 128) problems[name] = 'At most 128 characters.';
  if (
    form.ownerEmail !== '' &&
    (!/^[^@\p{Z}\p{Cc}]+@[^@\p{Z}\p{Cc}]+$/u.test(form.ownerEmail) || form.ownerEmail.length > 254)
  )
    problems.ownerEmail = 'Not an e-mail address.';
  if (form.expires !== '') {
    const endMs = Date.parse(`${form.expires}T00:00:00Z`);
    if (Number.isNaN(endMs)) problems.expires = 'Enter a day, such as 2026-12-31.';
    else if (endMs <= nowMs) problems.expires = 'This day is in the past. Choose a later one.';
  }
  const models = modelsIn(form.allow);
  const odd = models.find((model) => !modelPattern.test(model) || model.length > 200);
  if (odd !== undefined)
    problems.allow = `“${odd}” is not a model id. Use letters, digits and . _ : @ + / -, with a * only at the end.`;
  else if (models.length > 64) problems.allow = 'At most 64 entries.';
  for (const member of limitMembers) {
    const text = form[member].trim();
    const { max } = LIMITS[member];
    if (text !== '' && !(/^[1-9][0-9]*$/.test(text) && Number(text) <= max))
      problems[member] = `Enter a whole number from 1 to ${max}, or leave it empty.`;
  }
  const ofBudgets = form.budgets.map((budget, at) => checkBudget(budget, form.budgets.slice(0, at)));
  if (ofBudgets.some((found) => Object.keys(found).length > 0)) problems.budgets = ofBudgets;
  return problems;
}

function checkBudget({ limit, period }: BudgetForm, before: readonly BudgetForm[]): Problems<BudgetForm> {
  if (limit.trim() === '') return {};
  if (!dollarsPattern.test(limit.trim()))
    return { limit: 'Enter dollars, such as 100.00, or leave it empty.' };
  const isTaken = before.some((other) => other.period === period && other.limit.trim() !== '');
  return isTaken ? { period: 'There is already a budget for this period. Choose another.' } : {};
}

/** @param minted the key was made here; without it the operator makes one and writes it into a Secret. */
export function buildApiKey(form: KeyForm, minted?: { readonly sha256: string; readonly hint: string }) {
  const owner = trimmed({ name: form.ownerName, email: form.ownerEmail, team: form.team });
  const models = modelsIn(form.allow);
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ApiKey',
    metadata: { name: form.name, namespace: form.namespace },
    spec: {
      ...trimmed({ displayName: form.displayName }),
      ...(Object.keys(owner).length === 0 ? {} : { owner }),
      ...(form.expires === '' ? {} : { expiresAt: `${form.expires}T00:00:00Z` }),
      ...(minted === undefined ? {} : { imports: [{ sha256: minted.sha256, hint: minted.hint }] }),
      ...(models.length === 0 ? {} : { models: { allow: models } }),
      ...bounds(form),
    },
  };
}

/** The form of a key that is there, to be edited. */
export function keyFormOf({ metadata, spec }: ApiKey): KeyForm {
  const text = (value: number | undefined) => (value === undefined ? '' : String(value));
  const budgets = (spec.budgets ?? []).map((from) => ({
    limit: from.limit,
    period: from.period,
    action: from.action ?? ('Block' as const),
    from,
  }));
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    displayName: spec.displayName ?? '',
    ownerName: spec.owner?.name ?? '',
    ownerEmail: spec.owner?.email ?? '',
    team: spec.owner?.team ?? '',
    expires: dayOf(spec.expiresAt),
    allow: (spec.models?.allow ?? []).join(', '),
    ...perLimit((member) => text(spec.limits?.[member])),
    budgets: budgets.length === 0 ? emptyKeyForm.budgets : budgets,
  };
}

/** In UTC; empty without a time. */
function dayOf(moment = ''): string {
  const atMs = Date.parse(moment);
  return (Number.isNaN(atMs) ? moment : new Date(atMs).toISOString()).slice(0, 10);
}

/** The hint of the expiry field. @param expiresAt of the present key: a moment within a day differs from the end of that day. */
export function endHint(expiresAt: string | undefined, { time }: Pick<Formats, 'time'>): string {
  const isWithinDay = expiresAt !== undefined && Date.parse(expiresAt) !== Date.parse(dayOf(expiresAt));
  return isWithinDay
    ? `Now ${time(expiresAt)}; kept unless you choose another day. Expires when that day starts, in UTC. Empty: never.`
    : 'Expires when this day starts, in UTC. Empty: never.';
}

/** A merge patch: a removed member is null. Members that the form does not show stay. */
export function editPatch(before: ApiKey, form: KeyForm) {
  const { spec } = buildApiKey(form);
  const { budgets, limits } = bounds(form);
  const owner = spec.owner ?? {};
  return {
    spec: {
      displayName: spec.displayName ?? null,
      owner:
        spec.owner === undefined
          ? null
          : { name: owner.name ?? null, email: owner.email ?? null, team: owner.team ?? null },
      // A moment that was written elsewhere stays to the second, unless another day was chosen.
      ...(form.expires === dayOf(before.spec.expiresAt) ? {} : { expiresAt: spec.expiresAt ?? null }),
      models:
        spec.models === undefined && before.spec.models?.deny === undefined
          ? null
          : { allow: spec.models?.allow ?? null },
      limits: limits === undefined ? null : perLimit((member) => limits[member] ?? null),
      budgets: budgets ?? null,
    },
  };
}

function perLimit<Value>(read: (member: LimitMember) => Value) {
  return Object.fromEntries(limitMembers.map((member) => [member, read(member)])) as Record<
    LimitMember,
    Value
  >;
}

function bounds(form: KeyForm): { limits?: Limits; budgets?: readonly Budget[] } {
  const limits = Object.fromEntries(
    limitMembers
      .map((member) => [member, form[member].trim()] as const)
      .filter(([, text]) => text !== '')
      .map(([name, text]) => [name, Number(text)]),
  );
  const budgets = form.budgets
    .map(({ from, limit, ...budget }) => ({ ...from, ...budget, limit: limit.trim() }))
    .filter(({ limit }) => limit !== '');
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(budgets.length === 0 ? {} : { budgets }),
  };
}

/** Entries that no model fits. @param ids of the models that the namespace sees. */
export function unknownModels(text: string, ids: readonly string[]): readonly string[] {
  const fits = (entry: string, id: string) =>
    entry.endsWith('*') ? id.startsWith(entry.slice(0, -1)) : id === entry;
  return modelsIn(text).filter((entry) => !ids.some((id) => fits(entry, id)));
}

export function modelsIn(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((word) => word !== ''))];
}

/** The fields that are not empty. */
function trimmed<Name extends string>(fields: Readonly<Record<Name, string>>): Partial<Record<Name, string>> {
  const entries = (Object.entries(fields) as [Name, string][])
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '');
  return Object.fromEntries(entries) as Partial<Record<Name, string>>;
}
