// Which models can a key call, what do they cost, and how is each client dialect served?

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { errorsOf, failedEndOf } from '../overview/totals.ts';
import { Answered, Badge, Empty, NoLedger, Notice } from '../parts/basics.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { requestsLink } from '../requests/link.ts';
import { everyMinuteMs, useAsked, useNow, useObjects, useSoon } from '../shell/asking.tsx';
import { Link, type Shell, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { DIALECTS, type DialectName } from '../words/choices.ts';
import type { ModelRoute } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import {
  type Catalog,
  type ModelRow,
  type ModelUse,
  type ModelWords,
  modelRows,
  providersOf,
  type Verdict,
  verdictWords,
} from './catalog.ts';

/** Each is a question to a gateway. */
const catalogsMax = 20;
const useMs = 3_600_000;

export function Models() {
  const shell = useShell();
  const { api, namespace, session } = shell;
  const routes = useObjects<ModelRoute>('modelroutes', namespace);
  const nowMs = useNow(everyMinuteMs);
  const withRoutes = [...new Set((routes.objects ?? []).map(({ metadata }) => metadata.namespace))].sort();
  const namespaces = namespace === undefined ? withRoutes : [namespace];
  const isKnown = namespace !== undefined || routes.objects !== undefined;
  const question = session.hasLedger && isKnown ? `catalogs ${namespaces.join()}` : undefined;
  const ask = async (signal: AbortSignal) => {
    const minuteOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}:00Z`;
    const query = { from: minuteOf(nowMs - useMs), to: minuteOf(nowMs + 60_000), namespace };
    // Use is an extra: a person without the right sees the models.
    const uses = api
      .call<{ readonly rows: readonly ModelUse[] }>('ledger/v1/models', { query, signal })
      .catch(() => undefined);
    const catalogs = await Promise.all(
      namespaces.slice(0, catalogsMax).map(async (of) => ({
        namespace: of,
        catalog: await api.call<Catalog>('ledger/v1/catalog', {
          method: 'POST',
          body: { namespace: of },
          signal,
        }),
      })),
    );
    return { catalogs, uses: (await uses)?.rows };
  };
  const asked = useAsked(question, ask, question && `catalogs ${namespace ?? '*'}`, nowMs);
  // A model that was just added appears as soon as gateways have it; those of the platform change within the minute.
  const askSoon = useSoon(asked.again);
  useEffect(() => {
    if (routes.objects !== undefined) askSoon();
  }, [routes.objects, askSoon]);
  return (
    <>
      <div class="head">
        <div>
          <h1 tabIndex={-1}>Models</h1>
          <p class="faint">
            {namespace === undefined
              ? 'The models that routes of all namespaces serve.'
              : `Models that keys of ${namespace} can call.`}{' '}
            Prices per million tokens.
          </p>
        </div>
        <Link class="button" to="/models/plan">
          Plan a request
        </Link>
      </div>
      {!session.hasLedger ? (
        <NoLedger>models cannot be listed</NoLedger>
      ) : (
        <Answered asked={isKnown ? asked : { ...asked, ...routes, answer: undefined }} what="Models">
          {({ catalogs, uses }) => {
            const models = modelRows(catalogs, routes.objects ?? [], uses ?? []);
            return models.length === 0 ? (
              <Empty title={namespace === undefined ? 'No models yet' : 'No models in this namespace'}>
                <p>
                  {namespace !== undefined && 'The platform shares none with it. '}
                  <Link to="/providers/new">Add your own provider</Link>
                </p>
              </Empty>
            ) : (
              <>
                <Table
                  caption="Models"
                  rows={models}
                  columns={columnsFor(shell, uses !== undefined)}
                  keyOf={({ id, namespace: of }) => `${of} ${id}`}
                />
                {namespaces.length > catalogsMax && (
                  <p class="faint small">
                    Models of {catalogsMax} namespaces. Choose a namespace to see those of another.
                  </p>
                )}
                <Notice tone="off">
                  <p>
                    <strong>Native</strong>: the provider speaks the dialect. <strong>Translated</strong>:
                    without loss. <strong>Lossy</strong>: the listed fields are dropped or weakened; the
                    header x-penstock-dropped names them.
                  </p>
                </Notice>
              </>
            );
          }}
        </Answered>
      )}
    </>
  );
}

function columnsFor({ formats, namespace }: Shell, hasUse: boolean): readonly Column<ModelRow>[] {
  return [
    {
      label: 'Model',
      cell: ({ id, displayName, description, isOwn, namespace: of }) => (
        <>
          <code>{id}</code> {isOwn && <Badge tone="busy">Own</Badge>}
          {namespace === undefined && <span class="under">{of}</span>}
          {displayName !== id && <span class="under">{displayName}</span>}
          {description !== undefined && <span class="under">{description}</span>}
        </>
      ),
    },
    {
      label: 'State',
      cell: ({ route }) => {
        if (route === undefined) return <span class="faint">–</span>;
        const { word, tone } = statusOf(route);
        return (
          <Link to={pathOf('routes', route.metadata.namespace, route.metadata.name)}>
            <Badge tone={tone}>{word}</Badge>
          </Link>
        );
      },
    },
    {
      label: 'Provider',
      cell: ({ route, ownedBy }) => (route === undefined ? ownedBy : providersOf(route).join(', ')),
    },
    ...(hasUse
      ? [
          {
            label: 'Requests, last hour',
            isNumber: true,
            cell: ({ id: model, use }: ModelRow) => {
              if (use === undefined) return <span class="faint">no calls</span>;
              const failed = errorsOf(use);
              return (
                <>
                  <Link to={requestsLink({ model, period: '1h' })}>
                    {formats.compact(use.requests)}
                    <span class="unseen"> requests for {model}</span>
                  </Link>
                  {failed > 0 && (
                    <Link
                      class="under"
                      to={requestsLink({
                        ...{ model, period: '1h' },
                        outcome: failedEndOf(use),
                      })}
                    >
                      {formats.number(failed)} of {formats.counted(use.attempts, 'attempt')} failed
                    </Link>
                  )}
                </>
              );
            },
          },
          {
            label: 'First token',
            isNumber: true,
            cell: ({ use }: ModelRow) =>
              use?.firstContentMs === undefined ? (
                <span class="faint">–</span>
              ) : (
                <>
                  {formats.milliseconds(use.firstContentMs.p50)}
                  <span class="under">p90 {formats.milliseconds(use.firstContentMs.p90)}</span>
                </>
              ),
          },
        ]
      : []),
    {
      label: 'Input',
      isNumber: true,
      cell: priced(({ input, cached, request, tiersAbove }) => (
        <>
          {formats.price(input)}
          {cached && <span class="under">cached {formats.price(cached)}</span>}
          {request && <span class="under">per request {formats.price(request)}</span>}
          {tiersAbove && <span class="under">tiered above {formats.compact(tiersAbove)}</span>}
        </>
      )),
    },
    { label: 'Output', isNumber: true, cell: priced(({ output }) => formats.price(output)) },
    {
      label: 'Context',
      isNumber: true,
      cell: ({ contextTokens, outputTokensMax }) => (
        <>
          {contextTokens === undefined ? <span class="faint">–</span> : formats.compact(contextTokens)}
          {outputTokensMax !== undefined && <span class="under">{formats.compact(outputTokensMax)} out</span>}
        </>
      ),
    },
    {
      label: 'Dialects',
      cell: ({ dialects }) => (
        <ul class="dialects">
          {byVerdict(dialects).map(({ verdict, names, lostFields }) => {
            const { word, tone } = verdictWords(verdict);
            return (
              <li key={`${verdict} ${names[0]}`}>
                <Badge tone={tone}>{word}</Badge>
                <span>
                  {names.map((name) => DIALECTS[name]).join(', ')}
                  {lostFields.length > 0 && <span class="under">{lostFields.join(', ')}</span>}
                </span>
              </li>
            );
          })}
        </ul>
      ),
    },
    {
      label: 'Plan',
      cell: ({ id, namespace: of }) => (
        <Link
          to={`/models/plan?model=${encodeURIComponent(id)}${namespace === undefined ? `&of=${encodeURIComponent(of)}` : ''}`}
        >
          Plan<span class="unseen"> a request to {id}</span>
        </Link>
      ),
    },
  ];
}

/** One line for each verdict; each lossy dialect gets its own line, with what it loses. */
function byVerdict(dialects: ModelWords['dialects']) {
  const lines: { verdict: Verdict; names: DialectName[]; lostFields: readonly string[] }[] = [];
  for (const { name, verdict, lostFields } of dialects) {
    const line = lines.find((one) => one.verdict === verdict && lostFields.length === 0);
    if (line === undefined) lines.push({ verdict, names: [name], lostFields });
    else line.names.push(name);
  }
  return lines;
}

function priced(cell: (price: NonNullable<ModelWords['price']>) => ComponentChildren) {
  return ({ price, isOwn }: ModelWords) =>
    price === undefined || isOwn || price.isProvisioned ? (
      <span class="faint">{isOwn ? 'own provider' : price ? 'provisioned' : 'no price set'}</span>
    ) : (
      cell(price)
    );
}
