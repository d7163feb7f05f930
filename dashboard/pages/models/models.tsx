// Which models may somebody call, what do they cost, and how is each client dialect served?

import type { ComponentChildren } from 'preact';
import { Answered, Badge, Empty, NoLedger, Notice } from '../parts/basics.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { everyMinuteMs, useAsked, useNow, useSoon, useWatch } from '../shell/asking.tsx';
import { Link, type Shell, useShell } from '../shell/context.tsx';
import { DIALECTS } from '../words/choices.ts';
import { type Catalog, type ModelWords, modelsOf, verdictWords } from './catalog.ts';

export function Models() {
  const shell = useShell();
  const { api, namespace, session } = shell;
  const question = namespace === undefined || !session.hasLedger ? undefined : `catalog ${namespace}`;
  const catalog = useAsked(
    question,
    (signal) => api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace }, signal }),
    question,
    useNow(everyMinuteMs),
  );
  // Who has just added a model of their own is here before gateways have it; those of the platform change within the minute.
  const askSoon = useSoon(catalog.again);
  useWatch(namespace === undefined ? undefined : 'modelroutes', namespace, askSoon, askSoon);
  return (
    <>
      <div class="head">
        <div>
          <h1 tabIndex={-1}>Models</h1>
          <p class="faint">
            As a key of {namespace ?? 'one namespace'} gets them from GET /v1/models. Prices are per million
            tokens.
          </p>
        </div>
        <Link class="button" to="/models/plan">
          Plan a request
        </Link>
      </div>
      {!session.hasLedger ? (
        <NoLedger>nobody asks the gateways which models there are</NoLedger>
      ) : namespace === undefined ? (
        <Empty title="Choose a namespace">
          <p>Which models there are depends on whose key asks. Pick a namespace at the top.</p>
        </Empty>
      ) : (
        <Answered asked={catalog} what="The catalog">
          {(answer) => {
            const models = modelsOf(answer);
            return models.length === 0 ? (
              <Empty title="There are no models for this namespace">
                <p>
                  The platform lends none to it. <Link to="/providers/new">Add a provider of your own</Link>
                </p>
              </Empty>
            ) : (
              <>
                <Table caption="Models" rows={models} columns={columnsFor(shell)} keyOf={({ id }) => id} />
                <Notice tone="off">
                  <p>
                    <strong>Native</strong>: spoken by the provider itself. <strong>Translated</strong>:
                    nothing is lost. <strong>Lossy</strong>: what stands there is left out or weakened;
                    answers say so in x-penstock-dropped.
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

function columnsFor({ formats }: Shell): readonly Column<ModelWords>[] {
  return [
    {
      label: 'Model',
      cell: ({ id, displayName, description, isOwn }) => (
        <>
          <code>{id}</code> {isOwn && <Badge tone="busy">Own</Badge>}
          {displayName !== id && <span class="under">{displayName}</span>}
          {description !== undefined && <span class="under">{description}</span>}
        </>
      ),
    },
    { label: 'By', cell: ({ ownedBy }) => ownedBy },
    {
      label: 'Input',
      isNumber: true,
      cell: priced(({ input, cached, request, tiersAbove }) => (
        <>
          {formats.price(input)}
          {cached && <span class="under">cached {formats.price(cached)}</span>}
          {request && <span class="under">each request {formats.price(request)}</span>}
          {tiersAbove && <span class="under">other prices above {formats.compact(tiersAbove)}</span>}
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
          {dialects.map(({ name, verdict, lostFields }) => {
            const { word, tone } = verdictWords(verdict);
            return (
              <li key={name}>
                <span>{DIALECTS[name]}</span>
                <span>
                  <Badge tone={tone}>{word}</Badge>
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
      cell: ({ id }) => (
        <Link to={`/models/plan?model=${encodeURIComponent(id)}`}>
          Plan<span class="unseen"> a request to {id}</span>
        </Link>
      ),
    },
  ];
}

function priced(cell: (price: NonNullable<ModelWords['price']>) => ComponentChildren) {
  return ({ price, isOwn }: ModelWords) =>
    price === undefined || isOwn ? (
      <span class="faint">{isOwn ? 'your own' : 'not known'}</span>
    ) : (
      cell(price)
    );
}
