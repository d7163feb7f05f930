// What is known about one provider? Its conditions with the remedy, its health by pod and key, and the outcomes of calls.

import type { HealthAnswer } from '../overview/ledger.ts';
import { errorsOf } from '../overview/totals.ts';
import { Ago, Answered, Empty, Facts } from '../parts/basics.tsx';
import { Conditions } from '../parts/conditions.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Crumbs, ObjectDialogs, ObjectHead, State, useObjectPage } from '../parts/object-page.tsx';
import { LastFailure, RecentCalls, useRecentCalls } from '../parts/recent-calls.tsx';
import { Table } from '../parts/table.tsx';
import { SeeRequests } from '../requests/see-requests.tsx';
import { everyMinuteMs, useAsked, useNow } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import type { Tone } from '../words/conditions.ts';
import type { Provider } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { keyStateWords } from '../words/part-states.ts';
import { EditProviderDialog } from './edit-provider.tsx';
import { TestConnection } from './test-connection.tsx';
import { Troubles } from './troubles.tsx';

export function ProviderDetails({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { formats, session } = useShell();
  const { shown, may, change, open, setOpen } = useObjectPage<Provider, 'edit'>('providers', namespace, name);
  return (
    <>
      <Crumbs list="/providers" title="Providers and routes" namespace={namespace} />
      <Loaded shown={shown} what={`The provider ${name}`} title={name}>
        {(provider) => {
          const status = statusOf(provider);
          const { health, attachedRoutes = 0 } = provider.status ?? {};
          return (
            <>
              <ObjectHead
                plural="providers"
                object={provider}
                status={status}
                may={may}
                actions={[{ label: 'Edit', right: 'patch providers', onClick: () => setOpen('edit') }]}
                onOpen={setOpen}
                change={change}
              />
              <section class="panel" aria-labelledby="conditions-heading">
                <h2 id="conditions-heading">Status</h2>
                <Conditions conditions={status.conditions} programmed={provider.status?.programmed} />
              </section>
              <Troubles provider={provider} />
              <div class="columns">
                <section class="panel" aria-labelledby="facts-heading">
                  <h2 id="facts-heading">Details</h2>
                  <Facts
                    facts={[
                      ['Type', provider.spec.type],
                      ['Address', provider.status?.endpoint ?? provider.spec.baseURL ?? '–'],
                      ['Dialects', provider.spec.apis?.join(', ') ?? 'default of the type'],
                      ['Routes', formats.number(attachedRoutes)],
                      [
                        'Health',
                        health?.totalPods === undefined || health.totalPods === 0
                          ? 'no recent calls'
                          : healthWords(health.healthyPods ?? 0, health.totalPods, status.tone),
                      ],
                      ...(health?.lastTransitionTime === undefined
                        ? []
                        : [['Since', <Ago key="since" at={health.lastTransitionTime} />] as const]),
                      ...(health?.lastError ? [['Last check', health.lastError] as const] : []),
                    ]}
                  />
                  <TestConnection
                    isAllowed={may('patch providers').isAllowed}
                    ask={() => ({ namespace, provider: name })}
                  />
                </section>
                <section class="panel" aria-labelledby="keys-heading">
                  <h2 id="keys-heading">Keys</h2>
                  <ProviderKeys provider={provider} />
                </section>
              </div>
              <Calls namespace={namespace} name={name} />
              {open === 'edit' && (
                <EditProviderDialog
                  provider={provider}
                  onClose={() => setOpen(undefined)}
                  whenDone={() => {
                    setOpen(undefined);
                    shown.again();
                  }}
                />
              )}
              <ObjectDialogs
                plural="providers"
                object={provider}
                change={change}
                open={open}
                onClose={() => setOpen(undefined)}
                what="provider"
                list="/providers"
              >
                <p>
                  {formats.counted(attachedRoutes, 'route')} {attachedRoutes === 1 ? 'uses' : 'use'} it.{' '}
                  {session.mode === 'local'
                    ? 'The deletion is refused while a route needs this provider.'
                    : 'Routes without another target go out of service.'}{' '}
                  Its Secret stays.
                </p>
              </ObjectDialogs>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function ProviderKeys({ provider }: { readonly provider: Provider }) {
  const asked = provider.spec.auth?.keys ?? [];
  const states = new Map((provider.status?.keys ?? []).map((key) => [key.name, key]));
  if (asked.length === 0) return <Empty title="No key required" />;
  return (
    <Table
      caption="Keys of the provider"
      rows={asked}
      keyOf={({ name }) => name}
      columns={[
        { label: 'Name', cell: ({ name }) => name },
        {
          label: 'State',
          cell: ({ name }) => {
            const { state = 'unknown', message = '', lastTransitionTime } = states.get(name) ?? {};
            const tone =
              state === 'Active'
                ? 'good'
                : state === 'RateLimited'
                  ? 'warn'
                  : state === 'Disabled' || state === 'unknown'
                    ? 'off'
                    : 'bad';
            return (
              <State
                tone={tone}
                word={capital(keyStateWords(state))}
                message={message}
                at={lastTransitionTime}
              />
            );
          },
        },
        {
          label: 'Fingerprint',
          cell: ({ name }) => <code>{states.get(name)?.fingerprint?.slice(0, 8) ?? '–'}</code>,
        },
      ]}
    />
  );
}

/** With one gateway, as in local mode, the text has no count. */
function healthWords(healthy: number, total: number, tone: Tone): string {
  if (total === 1) return healthy === 1 ? 'healthy' : tone === 'warn' ? 'degraded' : 'failing';
  return `healthy on ${healthy} of ${total} gateway pods`;
}

function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Needs the right to see the whole platform. */
function Calls({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { api, session, formats } = useShell();
  const recent = useRecentCalls({ provider: `${namespace}/${name}` }) ?? [];
  const question = session.hasLedger ? `health of ${namespace}/${name}` : undefined;
  const asked = useAsked(
    question,
    (signal) =>
      api.call<HealthAnswer>('ledger/v1/health', { query: { provider: `${namespace}/${name}` }, signal }),
    question,
    useNow(everyMinuteMs),
  );
  if (!session.hasLedger || asked.error?.status === 403) return null;
  return (
    <section class="panel" aria-labelledby="calls-heading">
      <h2 id="calls-heading">Calls in the last 30 days</h2>
      <Answered asked={asked} what="Calls">
        {({ health }) =>
          health.length === 0 ? (
            <Empty title="No calls" />
          ) : (
            <Table
              caption="Calls by model"
              rows={health}
              keyOf={(row) => `${row.provider} ${row.upstreamModel}`}
              columns={[
                { label: 'Upstream model', cell: ({ upstreamModel }) => <code>{upstreamModel}</code> },
                {
                  label: 'Last 10 minutes',
                  cell: ({ upstreamModel }) => (
                    <RecentCalls rows={recent.filter((row) => row.upstreamModel === upstreamModel)} />
                  ),
                },
                { label: 'Attempts', isNumber: true, cell: ({ attempts }) => formats.number(attempts) },
                {
                  label: 'Failed',
                  isNumber: true,
                  cell: (row) => formats.number(errorsOf(row)),
                },
                { label: 'Last failure', cell: (row) => <LastFailure row={row} /> },
              ]}
            />
          )
        }
      </Answered>
      <SeeRequests of={{ provider: `${namespace}/${name}` }} />
    </section>
  );
}
