// A busy quarter of an hour as an admin finds it: eleven models, ten keys, six providers, and faults of every kind on purpose.

import {
  credentialSecret,
  importedApiKey,
  modelRoute,
  namespaceOf,
  provider,
  tenantPolicy,
} from '../../../flow/cluster/manifests.ts';

const DAY_MS = 86_400_000;

/** Model ids and their fault, or none. */
export const MODELS = {
  small: 'answers at once',
  large: 'answers, and costs the most',
  slow: 'takes over a second to its first token',
  words: 'streams word by word',
  spare: 'its first target fails, the second answers',
  broken: 'its only upstream answers HTTP 500',
  nowhere: 'its upstream has no DNS record',
  locked: 'its upstream rejects the platform key',
  partly: 'answers, then fails for some calls',
  thinking: 'reasons before it answers',
  unpriced: 'has no price',
} as const;
export type Model = keyof typeof MODELS;

/** By the name of the key: its spec, in the namespace team-a unless it says another. */
export function keysAt(nowMs: number): Readonly<Record<string, object>> {
  const owner = (name: string, team: string) => ({ owner: { name, team } });
  const limits = { requestsPerMinute: 2 };
  const budget = (limit: string, more: object = {}) => ({ budgets: [{ period: 'Month', limit, ...more }] });
  return {
    laptop: { displayName: 'Notebook of Ada', ...owner('Ada', 'search') },
    ci: owner('Bo', 'platform'),
    batch: { ...owner('Bo', 'platform'), limits },
    spent: { ...owner('Cy', 'ads'), ...budget('0.0001') },
    warned: { ...owner('Cy', 'ads'), ...budget('9.00', { period: 'Week' }) },
    'ends-soon': { ...owner('Di', 'search'), expiresAt: new Date(nowMs + 3 * DAY_MS).toISOString() },
    off: { ...owner('Di', 'search'), disabled: true },
    narrow: { ...owner('Ed', 'ads'), models: { allow: ['small'] } },
    night: owner('Ed', 'ads'),
  };
}

/** @param url Of the simulator. @param brokenSinceMs Nothing: what fails, fails from the start. */
export function objectsOf(url: string, nowMs: number): readonly object[] {
  const shared = { allowedNamespaces: { from: 'All' } };
  const price = (input: string, output: string) => ({
    pricing: { inputPerMillion: input, outputPerMillion: output },
  });
  const route = (model: Model, providers: readonly string[], spec: object = {}) =>
    modelRoute('platform', model, providers, { ...shared, ...spec });
  const to = (name: string, upstreamModel: string, targetPriority = 0) => ({
    name,
    providerRef: { name },
    upstreamModel,
    priority: targetPriority,
  });
  const failing = { headers: [{ name: 'x-simulator', value: 'fault=error-500' }] };
  const rejecting = { headers: [{ name: 'x-simulator', value: 'fault=error-401' }] };
  const noPrice = { pricing: undefined };
  return [
    namespaceOf('platform'),
    credentialSecret('platform', 'keys', url, 'sk-of-the-platform'),
    provider('platform', 'main', url, 'keys', { displayName: 'Main' }),
    provider('platform', 'second', url, 'keys', { displayName: 'Second' }),
    provider('platform', 'down', url, 'keys', failing),
    provider('platform', 'rejects', url, 'keys', rejecting),
    provider('platform', 'lost', 'http://models.invalid', '', { auth: { type: 'None' } }),
    provider('team-b', 'own', url, '', { auth: { type: 'None' } }),
    route('small', ['main', 'second']),
    route('large', ['main'], price('5000', '15000')),
    route('slow', [], { targets: [to('main', 'm+first=1200')] }),
    route('words', [], { targets: [to('main', 'm+pace=20+tokens=20')] }),
    route('spare', ['down', 'second']),
    route('broken', ['down']),
    route('nowhere', ['lost']),
    route('locked', ['rejects']),
    route('partly', [], { targets: [to('second', 'm+fault=error-503+times=6')] }),
    route('thinking', [], { targets: [to('main', 'm+reasoning=30')] }),
    route('unpriced', ['second'], noPrice),
    ...Object.entries(keysAt(nowMs)).map(([name, spec]) => importedApiKey('team-a', name, spec)),
    importedApiKey('team-b', 'other', { owner: { name: 'Flo', team: 'shop' } }),
    tenantPolicy('team-b', { budgets: [{ period: 'Month', limit: '50.00' }] }),
  ];
}

export interface Call {
  /** Name of the key in team-a; `team-b` for the key of that namespace; undefined: a key that nobody has. */
  readonly key: string | undefined;
  readonly model: string;
  readonly stream?: true;
}

/** In their order; what a caller sees of each is in the table of the test. */
export function callsOf(rounds: number): readonly Call[] {
  const once: readonly Call[] = [
    { key: 'laptop', model: 'small', stream: true },
    { key: 'laptop', model: 'words', stream: true },
    { key: 'ci', model: 'small' },
    { key: 'ci', model: 'broken' },
    { key: 'ci', model: 'nowhere' },
    { key: 'ci', model: 'locked' },
    { key: 'laptop', model: 'spare' },
    { key: 'laptop', model: 'partly' },
    { key: 'batch', model: 'small' },
    { key: 'batch', model: 'small' },
    { key: 'batch', model: 'small' },
    { key: 'spent', model: 'small' },
    { key: 'warned', model: 'large' },
    { key: 'ends-soon', model: 'small' },
    { key: 'off', model: 'small' },
    { key: 'narrow', model: 'large' },
    { key: 'narrow', model: 'small' },
    { key: 'night', model: 'thinking' },
    { key: 'night', model: 'unpriced' },
    { key: 'night', model: 'slow', stream: true },
    { key: 'ci', model: 'smal' },
    { key: undefined, model: 'small' },
    { key: 'team-b', model: 'small' },
  ];
  return Array.from({ length: rounds }, () => once).flat();
}
