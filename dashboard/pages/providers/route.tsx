// What is known about one route? Its targets, conditions with the remedy, last failover and last drill.

import type { HealthAnswer } from '../overview/ledger.ts';
import { type Action, Ago, Answered, Badge, Empty, Facts } from '../parts/basics.tsx';
import type { useChange } from '../parts/change.tsx';
import { Conditions } from '../parts/conditions.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Crumbs, ObjectDialogs, ObjectHead, State, useObjectPage } from '../parts/object-page.tsx';
import { RecentCalls, useRecentCalls } from '../parts/recent-calls.tsx';
import { Table } from '../parts/table.tsx';
import { SeeRequests } from '../requests/see-requests.tsx';
import { ApiError } from '../shell/api.ts';
import { everyMinuteMs, kubePath, useAsked, useNow } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { callsIn, codeWords } from '../words/calls.ts';
import { durationMs } from '../words/format.ts';
import type { ModelRoute, Provider } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { targetWords } from '../words/part-states.ts';
import { providerOf, servingTargets, type Target } from '../words/targets.ts';
import { troubleWords } from '../words/troubles.ts';
import { EditRouteDialog } from './edit-route.tsx';

export function RouteDetails({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { shown, may, change, open, setOpen } = useObjectPage<ModelRoute, 'edit'>(
    'modelroutes',
    namespace,
    name,
  );
  return (
    <>
      <Crumbs list="/providers" title="Providers and routes" namespace={namespace} />
      <Loaded shown={shown} what={`The route ${name}`} title={name}>
        {(route) => {
          const status = statusOf(route);
          const conflict = route.status?.conflictsWith;
          return (
            <>
              <ObjectHead
                plural="modelroutes"
                object={route}
                status={status}
                may={may}
                actions={[
                  { label: 'Edit', right: 'patch modelroutes', onClick: () => setOpen('edit') },
                  ...(route.spec.drill === undefined ? [] : [drillAction(change, route)]),
                ]}
                onOpen={setOpen}
                change={change}
              />
              <section class="panel" aria-labelledby="targets-heading">
                <h2 id="targets-heading">
                  Targets of <code>{route.spec.model}</code>
                </h2>
                <Targets route={route} />
                <SeeRequests of={{ model: route.spec.model }} />
              </section>
              <section class="panel" aria-labelledby="conditions-heading">
                <h2 id="conditions-heading">Status</h2>
                <Conditions conditions={status.conditions} programmed={route.status?.programmed} />
                {conflict !== undefined && (
                  <p>
                    The model id belongs to{' '}
                    <Link to={pathOf('routes', conflict.namespace, conflict.name)}>
                      {conflict.namespace}/{conflict.name}
                    </Link>
                    .
                  </p>
                )}
              </section>
              <LastFailover namespace={namespace} name={name} />
              <section class="panel" aria-labelledby="drill-heading">
                <h2 id="drill-heading">Failover drill</h2>
                <Drill route={route} />
              </section>
              {open === 'edit' && (
                <EditRouteDialog
                  route={route}
                  onClose={() => setOpen(undefined)}
                  whenDone={() => {
                    setOpen(undefined);
                    shown.again();
                  }}
                />
              )}
              <ObjectDialogs
                plural="modelroutes"
                object={route}
                change={change}
                open={open}
                onClose={() => setOpen(undefined)}
                what="route"
                list="/providers"
              >
                <p>
                  Calls of <code>{route.spec.model}</code> get 404 as soon as the gateways apply the deletion.
                </p>
              </ObjectDialogs>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function drillAction(change: ReturnType<typeof useChange>, { metadata }: ModelRoute): Action {
  return {
    label: 'Run drill now',
    right: 'patch modelroutes',
    onClick: () =>
      void change.run(
        kubePath('modelroutes', metadata.namespace, metadata.name),
        'PATCH',
        { metadata: { annotations: { 'penstock.dev/drill-now': new Date().toISOString() } } },
        'Drill requested.',
      ),
  };
}

function Targets({ route }: { readonly route: ModelRoute }) {
  const { namespace, name: routeName } = route.metadata;
  const recent = useRecentCalls({ route: `${namespace}/${routeName}` });
  const providers = useProviders(route);
  const states = new Map((route.status?.targets ?? []).map((target) => [target.name, target]));
  const failing = new Set([...providers].flatMap(([id, one]) => (statusOf(one).tone === 'bad' ? [id] : [])));
  const serving = servingTargets(route, failing);
  const callsOf = (target: Target) =>
    recent?.filter(
      (row) =>
        row.provider === undefined ||
        (row.provider === providerOf(route, target) && row.upstreamModel === target.upstreamModel),
    );
  const isStandby = (target: Target) =>
    callsIn(callsOf(target) ?? []).calls === 0 &&
    route.spec.targets.some(
      (other) => (other.priority ?? 0) < (target.priority ?? 0) && serving.includes(other.name),
    );
  const inOrder = route.spec.targets.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
  return (
    <Table
      caption="Targets in order"
      rows={inOrder}
      keyOf={({ name }) => name}
      columns={[
        { label: 'Target', cell: ({ name }) => name },
        {
          label: 'State',
          cell: (target) => {
            const { state = 'unknown', message = '', lastTransitionTime } = states.get(target.name) ?? {};
            const isSuspended = route.spec.suspended === true;
            const words = targetWords({
              ...{ state, message, isSuspended },
              isProviderFailing: failing.has(providerOf(route, target)),
              isStandby: isStandby(target),
            });
            return (
              <State
                {...words}
                message={isSuspended ? '' : message}
                at={isSuspended ? undefined : lastTransitionTime}
              />
            );
          },
        },
        ...(recent === undefined
          ? []
          : [
              {
                label: 'Last 10 minutes',
                cell: (target: Target) => <RecentCalls rows={callsOf(target) ?? []} />,
              },
            ]),
        {
          label: 'Pods',
          cell: (target) => (
            <TargetTroubles target={target} provider={providers.get(providerOf(route, target))} />
          ),
        },
        {
          label: 'Provider',
          cell: ({ providerRef }) => (
            <Link
              to={pathOf('providers', providerRef.namespace ?? route.metadata.namespace, providerRef.name)}
            >
              {providerRef.name}
            </Link>
          ),
        },
        { label: 'Upstream model', cell: ({ upstreamModel }) => <code>{upstreamModel}</code> },
        { label: 'Priority', isNumber: true, cell: ({ priority = 0 }) => priority },
        { label: 'Weight', isNumber: true, cell: ({ weight = 1 }) => weight },
      ]}
    />
  );
}

/** Providers of its targets, as far as the user may read them. */
function useProviders(route: ModelRoute): ReadonlyMap<string, Provider> {
  const { api } = useShell();
  const ids = [...new Set(route.spec.targets.map((target) => providerOf(route, target)))];
  const asked = useAsked(
    // A route's status is written when one of its targets starts or stops failing.
    `providers ${ids.join(' ')} of ${route.metadata.resourceVersion}`,
    async (signal) => {
      const read = async (id: string): Promise<readonly (readonly [string, Provider])[]> => {
        const [namespace = '', name = ''] = id.split('/');
        try {
          return [[id, await api.call<Provider>(kubePath('providers', namespace, name), { signal })]];
        } catch (error) {
          // In another namespace, or deleted: the state of the target says so.
          if (error instanceof ApiError) return [];
          throw error;
        }
      };
      return new Map((await Promise.all(ids.map(read))).flat());
    },
    `providers ${ids.join(' ')}`,
    useNow(),
  );
  return asked.answer ?? new Map();
}

interface TargetTroublesProps {
  readonly target: Target;
  readonly provider: Provider | undefined;
}

function TargetTroubles({ target, provider }: TargetTroublesProps) {
  const { formats } = useShell();
  const nowMs = useNow();
  if (provider === undefined) return <span class="faint">–</span>;
  const troubles = troubleWords(provider, formats, nowMs, target.upstreamModel);
  const { word, tone } = statusOf(provider);
  if (troubles.length === 0 && (tone === 'bad' || tone === 'warn')) return <>Provider {word.toLowerCase()}</>;
  if (troubles.length === 0) return <span class="faint">no problems</span>;
  return (
    <>
      {troubles.flatMap(({ id, what, pods, more }) => [
        ...pods.map(({ name: pod, sentence }) => (
          <span key={`${id} ${pod}`} class="under">
            {what}: {sentence}
          </span>
        )),
        more > 0 && (
          <span key={id} class="under">
            and by {formats.counted(more, 'more pod')}
          </span>
        ),
      ])}
    </>
  );
}

/** Of all callers, or of one namespace for users with rights only there. */
function LastFailover({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { api, session } = useShell();
  const route = `${namespace}/${name}`;
  const question = session.hasLedger ? `failover of ${route}` : undefined;
  const asked = useAsked(
    question,
    (signal) => {
      const ask = (query: Readonly<Record<string, string>>) =>
        api.call<HealthAnswer>('ledger/v1/health', { query, signal });
      return ask({ route }).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 403) return ask({ route, namespace });
        throw error;
      });
    },
    question,
    useNow(everyMinuteMs),
  );
  if (!session.hasLedger || asked.error?.status === 403) return null;
  return (
    <section class="panel" aria-labelledby="failover-heading">
      <h2 id="failover-heading">Last failover</h2>
      <Answered asked={asked} what="Last failover">
        {({ lastFailover: last }) =>
          last === undefined ? (
            <Empty title="None in the last 30 days" />
          ) : (
            <p>
              <Ago at={last.at} />
              {last.attempts && ': '}
              {last.attempts
                ?.map(({ target, failure, cause = `failed: ${codeWords(failure ?? '')}` }) =>
                  failure ? `${target} ${cause}` : `${target} answered`,
                )
                .join(', ')}
            </p>
          )
        }
      </Answered>
    </section>
  );
}

function Drill({ route: { spec, status } }: { readonly route: ModelRoute }) {
  const { formats, session } = useShell();
  const drill = status?.drill;
  if (spec.drill === undefined)
    return (
      <Empty title="No drill configured">
        <p>
          spec.drill simulates a failure on a schedule and checks that the next target takes over. No provider
          is called.
        </p>
      </Empty>
    );
  if (drill?.result === undefined)
    return <Empty title={session.mode === 'local' ? 'Drills run on Kubernetes only' : 'Not run yet'} />;
  return (
    <Facts
      facts={[
        [
          'Last run',
          <span key="last">
            <Badge tone={drill.result === 'Passed' ? 'good' : drill.result === 'Failed' ? 'bad' : 'off'}>
              {{ Passed: 'Passed', Failed: 'Failed', NotRun: 'Not run' }[drill.result]}
            </Badge>{' '}
            <Ago at={drill.lastRunTime} />
          </span>,
        ],
        ...(drill.takeover === undefined
          ? []
          : [
              [
                'Takeover',
                `${formats.milliseconds(durationMs(drill.takeover))}${drill.servedBy === undefined ? '' : `, by target ${drill.servedBy}`}`,
              ] as const,
            ]),
        ['Fault', spec.drill.fault ?? 'ServerError'],
        ...(drill.nextRunTime === undefined ? [] : [['Next run', formats.time(drill.nextRunTime)] as const]),
        ...(drill.message ? [['Action', drill.message] as const] : []),
      ]}
    />
  );
}
