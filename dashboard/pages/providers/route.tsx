// What is to be known of one route: its conditions with the way out, each target, and its last failover drill?

import { useState } from 'preact/hooks';
import { targetStateWords } from '../overview/went-wrong.ts';
import { Actions, Ago, Badge, Empty, Facts, Notice } from '../parts/basics.tsx';
import { useChange } from '../parts/change.tsx';
import { Conditions } from '../parts/conditions.tsx';
import { DeleteDialog } from '../parts/delete-dialog.tsx';
import { YamlDialog } from '../parts/dialog.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Table } from '../parts/table.tsx';
import { kubePath, useObject, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import type { ModelRoute } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import { standingOf } from '../words/standing.ts';

export function RouteDetails({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { go } = useShell();
  const shown = useObject<ModelRoute>('modelroutes', namespace, name);
  const may = useRights(namespace);
  const change = useChange(shown.again);
  const [open, setOpen] = useState<'yaml' | 'delete' | undefined>(undefined);
  const path = kubePath('modelroutes', namespace, name);
  return (
    <>
      <p class="crumbs">
        <Link to="/providers">Providers and routes</Link> <span aria-hidden="true">/</span> {namespace}
      </p>
      <Loaded shown={shown} what={`The route ${name}`} title={name}>
        {(route) => {
          const standing = standingOf(route);
          const isSuspended = route.spec.suspended === true;
          const conflict = route.status?.conflictsWith;
          return (
            <>
              <div class="head">
                <h1 tabIndex={-1}>
                  {name} <Badge tone={standing.tone}>{standing.word}</Badge>
                </h1>
                <Actions
                  may={may}
                  actions={[
                    ...(route.spec.drill === undefined
                      ? []
                      : [
                          {
                            label: 'Run drill now',
                            right: 'patch modelroutes' as const,
                            onClick: () =>
                              void change.run(
                                path,
                                'PATCH',
                                {
                                  metadata: {
                                    annotations: { 'penstock.dev/drill-now': new Date().toISOString() },
                                  },
                                },
                                'The drill is asked for.',
                              ),
                          },
                        ]),
                    {
                      label: isSuspended ? 'Put into service' : 'Suspend',
                      right: 'patch modelroutes',
                      onClick: () =>
                        void change.run(
                          path,
                          'PATCH',
                          { spec: { suspended: !isSuspended } },
                          isSuspended ? 'In service.' : 'Suspended.',
                        ),
                    },
                    {
                      label: 'Delete',
                      right: 'delete modelroutes',
                      look: 'danger',
                      onClick: () => setOpen('delete'),
                    },
                    {
                      label: 'View as YAML',
                      right: 'get modelroutes',
                      look: 'quiet',
                      onClick: () => setOpen('yaml'),
                    },
                  ]}
                />
              </div>
              {change.problem !== undefined && (
                <Notice tone="bad" title="That was not done">
                  <p>{change.problem}</p>
                </Notice>
              )}
              <section class="panel" aria-labelledby="targets-heading">
                <h2 id="targets-heading">
                  <code>{route.spec.model}</code> is served by
                </h2>
                <Targets route={route} />
              </section>
              <section class="panel" aria-labelledby="conditions-heading">
                <h2 id="conditions-heading">How it stands</h2>
                <Conditions conditions={standing.conditions} programmed={route.status?.programmed} />
                {conflict !== undefined && (
                  <p>
                    The id is held by{' '}
                    <Link to={pathOf('routes', conflict.namespace, conflict.name)}>
                      {conflict.namespace}/{conflict.name}
                    </Link>
                    .
                  </p>
                )}
              </section>
              <section class="panel" aria-labelledby="drill-heading">
                <h2 id="drill-heading">Failover drill</h2>
                <Drill route={route} />
              </section>
              {open === 'yaml' && (
                <YamlDialog objects={[asManifest('ModelRoute', route)]} onClose={() => setOpen(undefined)} />
              )}
              {open === 'delete' && (
                <DeleteDialog
                  title={`Delete the route ${name}`}
                  path={path}
                  name={name}
                  onClose={() => setOpen(undefined)}
                  whenDone={() => go('/providers')}
                >
                  <p>
                    Callers of <code>{route.spec.model}</code> are told within a second that there is no such
                    model.
                  </p>
                </DeleteDialog>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Targets({ route }: { readonly route: ModelRoute }) {
  const states = new Map((route.status?.targets ?? []).map((target) => [target.name, target]));
  const inOrder = route.spec.targets.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
  return (
    <Table
      caption="Targets, in the order in which they are tried"
      rows={inOrder}
      keyOf={({ name }) => name}
      columns={[
        { label: 'Target', cell: ({ name }) => name },
        {
          label: 'State',
          cell: ({ name }) => {
            const { state = 'not known yet', message = '', lastTransitionTime } = states.get(name) ?? {};
            const tone =
              state === 'Ready' ? 'good' : state === 'Drained' || state === 'not known yet' ? 'off' : 'bad';
            return (
              <>
                <Badge tone={tone}>{targetStateWords(state)}</Badge>
                {message !== '' && <span class="under">{message}</span>}
                {lastTransitionTime !== undefined && (
                  <span class="under">
                    <Ago at={lastTransitionTime} />
                  </span>
                )}
              </>
            );
          },
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
        { label: 'Model there', cell: ({ upstreamModel }) => <code>{upstreamModel}</code> },
        { label: 'Priority', isNumber: true, cell: ({ priority = 0 }) => priority },
        { label: 'Weight', isNumber: true, cell: ({ weight = 1 }) => weight },
      ]}
    />
  );
}

function Drill({ route: { spec, status } }: { readonly route: ModelRoute }) {
  const { formats } = useShell();
  const drill = status?.drill;
  if (spec.drill === undefined)
    return (
      <Empty title="No drill is planned">
        <p>
          spec.drill plays a failure on schedule and proves that the next target takes over. It costs nothing,
          and callers do not notice.
        </p>
      </Empty>
    );
  if (drill?.result === undefined) return <Empty title="It has not run yet" />;
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
                `${drill.takeover}${drill.servedBy === undefined ? '' : `, by target ${drill.servedBy}`}`,
              ] as const,
            ]),
        ['Fault', spec.drill.fault ?? 'ServerError'],
        ...(drill.nextRunTime === undefined ? [] : [['Next run', formats.time(drill.nextRunTime)] as const]),
        ...(drill.message ? [['What to change', drill.message] as const] : []),
      ]}
    />
  );
}
