// Which providers and routes are there, and what is their status?

import type { ComponentChildren } from 'preact';
import { Actions, Ago, Answered, Badge, Empty, Notice, Prose } from '../parts/basics.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Asked, mayAnywhere, useObjects, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { countOf } from '../words/format.ts';
import type { KubeObject, ModelRoute, Provider } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';

export function Providers() {
  const { namespace, go, session } = useShell();
  const isLocal = session.mode === 'local';
  const mayHere = useRights(namespace);
  const may = namespace === undefined ? mayAnywhere : mayHere;
  const providers = useObjects<Provider>('providers', namespace);
  const routes = useObjects<ModelRoute>('modelroutes', namespace);
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Providers and routes</h1>
        <Actions
          may={may}
          actions={[
            {
              label: 'Add provider',
              right: 'create providers',
              look: 'main',
              onClick: () => go('/providers/new'),
            },
            {
              label: 'Add route',
              right: 'create modelroutes',
              onClick: () => go('/routes/new'),
            },
          ]}
        />
      </div>
      <section class="stack" aria-labelledby="providers-heading">
        <h2 id="providers-heading">Providers</h2>
        <Listed
          shown={providers}
          what="Providers"
          columns={providerColumns(namespace === undefined).slice(0, isLocal ? -1 : undefined)}
          empty={
            <Empty title="No providers here">
              <p>
                A provider is an upstream: its address and keys. Without one, models come from the platform's
                providers.
              </p>
            </Empty>
          }
        />
      </section>
      <section class="stack" aria-labelledby="routes-heading">
        <h2 id="routes-heading">Routes</h2>
        <Listed
          shown={routes}
          what="Routes"
          columns={routeColumns(namespace === undefined).slice(0, isLocal ? -1 : undefined)}
          empty={
            <Empty title="No routes here">
              <p>A route gives a model its public id and the providers that serve it.</p>
            </Empty>
          }
        />
      </section>
    </>
  );
}

function Listed<Kind extends KubeObject>({
  shown,
  what,
  columns,
  empty,
}: {
  readonly shown: Asked<readonly Kind[]> & { readonly objects: readonly Kind[] | undefined };
  readonly what: string;
  readonly columns: readonly Column<Kind>[];
  readonly empty: ComponentChildren;
}) {
  if (shown.error?.status === 403)
    return (
      <Notice tone="off" title={`No access to ${what.toLowerCase()}`}>
        <p>{shown.error.message}</p>
      </Notice>
    );
  return (
    <Answered asked={{ ...shown, answer: shown.objects }} what={what}>
      {(objects) =>
        objects.length === 0 ? (
          empty
        ) : (
          <Table
            caption={what}
            rows={objects}
            columns={columns}
            keyOf={({ metadata }) => `${metadata.namespace}/${metadata.name}`}
          />
        )
      }
    </Answered>
  );
}

function nameColumn<Kind extends KubeObject>(
  kind: 'providers' | 'routes',
  hasNamespace: boolean,
): Column<Kind> {
  return {
    label: 'Name',
    cell: ({ metadata }) => (
      <>
        <Link to={pathOf(kind, metadata.namespace, metadata.name)}>{metadata.name}</Link>
        {hasNamespace && <span class="under">{metadata.namespace}</span>}
      </>
    ),
  };
}

function statusColumn<Kind extends KubeObject>(): Column<Kind> {
  return {
    label: 'State',
    cell: (object) => {
      const { word, tone, message } = statusOf(object);
      return (
        <>
          <Badge tone={tone}>{word}</Badge>
          {message !== undefined && tone !== 'good' && (
            <span class="under clamp">
              <Prose text={message} />
            </span>
          )}
        </>
      );
    },
  };
}

const podsColumn: Column<KubeObject> = {
  label: 'Gateway pods',
  cell: ({ status }) =>
    countOf(status?.programmed?.runningPods, status?.programmed?.readyPods) ?? <span class="faint">–</span>,
};

function providerColumns(hasNamespace: boolean): readonly Column<Provider>[] {
  return [
    nameColumn('providers', hasNamespace),
    { label: 'Type', cell: ({ spec }) => spec.type },
    statusColumn(),
    {
      label: 'Keys',
      cell: ({ spec, status }) => {
        const keys = status?.keys ?? [];
        const all = spec.auth?.keys?.length ?? 0;
        return all === 0 ? (
          <span class="faint">none required</span>
        ) : (
          `${keys.filter(({ state }) => state === 'Active').length} of ${all} active`
        );
      },
    },
    {
      label: 'Address',
      cell: ({ status, spec }) => <span class="break">{status?.endpoint ?? spec.baseURL ?? '–'}</span>,
    },
    { label: 'Routes', isNumber: true, cell: ({ status }) => status?.attachedRoutes ?? 0 },
    podsColumn,
  ];
}

function routeColumns(hasNamespace: boolean): readonly Column<ModelRoute>[] {
  return [
    nameColumn('routes', hasNamespace),
    { label: 'Model', cell: ({ spec }) => <code>{spec.model}</code> },
    statusColumn(),
    {
      label: 'Targets ready',
      cell: ({ status }) => countOf(status?.usableTargets, status?.totalTargets) ?? '–',
    },
    {
      label: 'Last drill',
      cell: ({ spec, status }) => {
        const drill = status?.drill;
        if (drill?.result === undefined)
          return <span class="faint">{spec.drill === undefined ? 'none' : 'not yet'}</span>;
        return (
          <>
            <Badge tone={drill.result === 'Passed' ? 'good' : drill.result === 'Failed' ? 'bad' : 'off'}>
              {{ Passed: 'Passed', Failed: 'Failed', NotRun: 'Not run' }[drill.result]}
            </Badge>
            <span class="under">
              <Ago at={drill.lastRunTime} />
            </span>
          </>
        );
      },
    },
    podsColumn,
  ];
}
