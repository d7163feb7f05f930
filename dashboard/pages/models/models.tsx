// Which models can a key call, what do they cost, and how is each client dialect served?

import type { ComponentChildren } from 'preact';
import { Answered, Badge, Empty, NoLedger, Notice } from '../parts/basics.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { everyMinuteMs, useAsked, useNow, useSoon, useWatch } from '../shell/asking.tsx';
import { Link, type Shell, useShell } from '../shell/context.tsx';
import { DIALECTS, type DialectName } from '../words/choices.ts';
import { type Catalog, type ModelWords, modelsOf, type Verdict, verdictWords } from './catalog.ts';

const namespacesShownMax = 20;

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
  // A model that was just added appears as soon as gateways have it; those of the platform change within the minute.
  const askSoon = useSoon(catalog.again);
  useWatch(namespace === undefined ? undefined : 'modelroutes', namespace, askSoon, askSoon);
  return (
    <>
      <div class="head">
        <div>
          <h1 tabIndex={-1}>Models</h1>
          <p class="faint">
            GET /v1/models for a key of {namespace ?? 'one namespace'}. Prices per million tokens.
          </p>
        </div>
        <Link class="button" to="/models/plan">
          Plan a request
        </Link>
      </div>
      {!session.hasLedger ? (
        <NoLedger>models cannot be listed</NoLedger>
      ) : namespace === undefined ? (
        <Empty title="Choose a namespace">
          <p>The models of a key depend on its namespace.</p>
          <ul class="plain-list">
            {shell.namespaces.namespaces.slice(0, namespacesShownMax).map((name) => (
              <li key={name}>
                <Link to={`/models?namespace=${encodeURIComponent(name)}`}>{name}</Link>
              </li>
            ))}
          </ul>
        </Empty>
      ) : (
        <Answered asked={catalog} what="Models">
          {(answer) => {
            const models = modelsOf(answer);
            return models.length === 0 ? (
              <Empty title="No models in this namespace">
                <p>
                  The platform shares none with it. <Link to="/providers/new">Add your own provider</Link>
                </p>
              </Empty>
            ) : (
              <>
                <Table caption="Models" rows={models} columns={columnsFor(shell)} keyOf={({ id }) => id} />
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
    { label: 'Owner', cell: ({ ownedBy }) => ownedBy },
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
      cell: ({ id }) => (
        <Link to={`/models/plan?model=${encodeURIComponent(id)}`}>
          Plan<span class="unseen"> a request to {id}</span>
        </Link>
      ),
    },
  ];
}

/** One line for each verdict; a lossy dialect has a line of its own, with what it loses. */
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
    price === undefined || isOwn ? (
      <span class="faint">{isOwn ? 'own provider' : 'unknown'}</span>
    ) : (
      cell(price)
    );
}
