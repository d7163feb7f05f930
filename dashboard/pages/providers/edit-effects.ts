// What does an edit of a route or a provider take from its callers? Sentences to confirm before it is saved. Pure.

import type { Formats } from '../words/format.ts';
import type { AllowedNamespaces, ModelRoute, Provider } from '../words/kube.ts';

/** Empty: callers notice nothing. */
export function effectsOfRouteEdit(before: ModelRoute, after: ModelRoute): readonly string[] {
  const aliases = goneFrom(before.spec.aliases, after.spec.aliases);
  const callers = lostCallers(before.spec.allowedNamespaces, after.spec.allowedNamespaces);
  return [
    ...(aliases.length === 0 ? [] : [`Calls of ${aliases.join(', ')} are refused.`]),
    ...(callers === undefined ? [] : [`Calls from ${callers} are refused.`]),
    ...(losesUse(before, after)
      ? ['All targets in use are replaced. Calls fail if the new targets do not answer.']
      : []),
  ];
}

/** As `effectsOfRouteEdit`. */
export function effectsOfProviderEdit(
  before: Provider,
  after: Provider,
  { counted }: Pick<Formats, 'counted'>,
): readonly string[] {
  const callers = lostCallers(before.spec.allowedNamespaces, after.spec.allowedNamespaces);
  const routes = before.status?.attachedRoutes ?? 0;
  const differs = (member: 'baseURL' | 'auth' | 'tls') =>
    JSON.stringify(before.spec[member]) !== JSON.stringify(after.spec[member]);
  const changed = [
    ...(differs('baseURL') ? ['address'] : []),
    ...(differs('auth') ? ['credentials'] : []),
    ...(differs('tls') ? ['authority'] : []),
  ];
  const apis = goneFrom(before.spec.apis, after.spec.apis);
  return [
    ...(callers === undefined
      ? []
      : [`Routes in ${callers} lose this provider. A model without another target refuses calls.`]),
    ...(routes === 0 || changed.length === 0
      ? []
      : [
          `Calls of ${counted(routes, 'route')} use the new ${changed.join(' and ')} at once, and fail if the upstream refuses.`,
        ]),
    ...(routes === 0 || apis.length === 0
      ? []
      : [`${apis.join(', ')}: calls are translated to another dialect, or refused.`]),
  ];
}

function goneFrom(before: readonly string[] = [], after: readonly string[] = []): readonly string[] {
  return before.filter((one) => !after.includes(one));
}

/** Undefined: none, as far as names say it. */
function lostCallers(before: AllowedNamespaces = {}, after: AllowedNamespaces = {}): string | undefined {
  const [was, now] = [before.from ?? 'Same', after.from ?? 'Same'];
  if (was === 'Same' || now === 'All') return undefined;
  if (now === 'Same') return 'other namespaces';
  if (was === 'All') return `other namespaces than ${after.names?.join(', ') ?? 'the selected ones'}`;
  const gone = goneFrom(before.names, after.names);
  return gone.length === 0 ? undefined : gone.join(', ');
}

type Target = ModelRoute['spec']['targets'][number];

const upstreamOf = ({ providerRef, upstreamModel }: Target) =>
  `${providerRef.namespace ?? ''}/${providerRef.name} ${upstreamModel}`;

/** Whether all of its targets that answer are taken away, or get no calls any more. */
function losesUse(before: ModelRoute, after: ModelRoute): boolean {
  const ready = new Set(
    (before.status?.targets ?? []).filter(({ state }) => state === 'Ready').map(({ name }) => name),
  );
  const inUse = before.spec.targets.filter(({ name }) => ready.has(name)).map(upstreamOf);
  const kept = new Set(after.spec.targets.filter(({ weight }) => weight !== 0).map(upstreamOf));
  return inUse.length > 0 && !inUse.some((upstream) => kept.has(upstream));
}
