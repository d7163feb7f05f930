// What would the gateway do with a request? Its router's plan, with the reason for each target. Nothing is sent.

import { useRef, useState } from 'preact/hooks';
import { Badge, Button, Empty, Facts, NoLedger, Notice } from '../parts/basics.tsx';
import { CheckField, focusFirstProblem, SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { NamespaceField } from '../parts/namespace-field.tsx';
import { Table } from '../parts/table.tsx';
import type { ApiError } from '../shell/api.ts';
import { useAsked } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import { codeWords } from '../words/calls.ts';
import { DIALECTS } from '../words/choices.ts';
import { namespacePattern, namespaceProblem } from '../words/names.ts';
import { type Catalog, modelsOf, verdictWords } from './catalog.ts';
import { limitLines, type Plan, parseBody, usdOf } from './plan.ts';

const spec = {
  /** Where the page is of all namespaces. */
  of: { usual: '' },
  model: { usual: '' },
  key: { usual: '' },
  dialect: { usual: 'chat', words: Object.keys(DIALECTS) },
  stream: { usual: 'yes', words: ['yes', 'no'] },
} as const;

type Problems = { readonly [Field in 'of' | 'model' | 'body']?: string };

export function PlanView() {
  const { api, session, namespace: shownNamespace, path, search, go, announce } = useShell();
  const filters = readFilters(spec, search);
  const namespace = shownNamespace ?? filters.of;
  const [body, setBody] = useState('');
  const [problems, setProblems] = useState<Problems>({});
  const [answer, setAnswer] = useState<PlanAnswer>({});
  const [isAsking, setAsking] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const change = (changes: Partial<Record<keyof typeof spec, string>>) =>
    go(`${path}${writeFilters(spec, search, changes)}`, { replaces: true });
  const catalog = useAsked(
    session.hasLedger && namespacePattern.test(namespace) ? `catalog ${namespace}` : undefined,
    (signal) => api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace }, signal }),
  );
  const models = catalog.answer === undefined ? [] : modelsOf(catalog.answer);

  // An answer to an earlier question is not shown below this one.
  const question = JSON.stringify([
    namespace,
    filters.model,
    filters.key,
    filters.dialect,
    filters.stream,
    body,
  ]);
  const shown: PlanAnswer = answer.question === question ? answer : {};
  const now = useRef(question);
  now.current = question;

  const ask = async () => {
    let given: Readonly<Record<string, unknown>> | undefined;
    const found: { -readonly [Field in keyof Problems]: Problems[Field] } = {};
    if (!namespacePattern.test(namespace)) found.of = namespaceProblem(namespace);
    if (filters.model === '') found.model = 'Enter a model id.';
    try {
      given = parseBody(body);
    } catch (error) {
      found.body = (error as Error).message;
    }
    setProblems(found);
    if (Object.keys(found).length > 0) {
      focusFirstProblem(element.current);
      return;
    }
    setAsking(true);
    try {
      const plan = await api.call<Plan>('ledger/v1/plan', {
        method: 'POST',
        body: {
          namespace,
          model: filters.model,
          dialect: filters.dialect,
          stream: filters.stream === 'yes',
          ...(filters.key === '' ? {} : { apiKey: filters.key }),
          ...(given === undefined ? {} : { body: given }),
        },
      });
      setAnswer({ question, plan });
      if (now.current === question) announce('Plan ready.');
    } catch (error) {
      setAnswer({ question, error: error as ApiError });
    }
    setAsking(false);
  };

  return (
    <>
      <p class="crumbs">
        <Link to="/models">Models</Link>
      </p>
      <div>
        <h1 tabIndex={-1}>Plan a request</h1>
        <p class="faint">
          What the gateway would do with the request now. Nothing is sent, reserved or billed.
        </p>
      </div>
      {!session.hasLedger ? (
        <NoLedger>requests cannot be planned</NoLedger>
      ) : (
        <>
          <form
            ref={element}
            class="panel form"
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void ask();
            }}
          >
            {shownNamespace === undefined && (
              <NamespaceField
                value={filters.of}
                problem={problems.of}
                onInput={(of) => change({ of, model: '', key: '' })}
              />
            )}
            <div class="pair">
              <TextField
                label="Model"
                required
                value={filters.model}
                onInput={(model) => change({ model })}
                list={models.map(({ id }) => id)}
                problem={problems.model}
              />
              <TextField
                label="Key"
                placeholder="Any key of the namespace"
                value={filters.key}
                onInput={(key) => change({ key })}
                hint="Name of an ApiKey, to apply its limits and models."
              />
            </div>
            <div class="pair">
              <SelectField
                label="Client dialect"
                value={filters.dialect}
                onInput={(dialect) => change({ dialect })}
                options={Object.entries(DIALECTS).map(([value, label]) => ({ value, label }))}
              />
              <div class="field">
                <span class="label-like">Response</span>
                <CheckField
                  label="Streamed"
                  checked={filters.stream === 'yes'}
                  onInput={(checked) => change({ stream: checked ? 'yes' : 'no' })}
                />
              </div>
            </div>
            <TextArea
              label="Body"
              value={body}
              onInput={setBody}
              problem={problems.body}
              hint="JSON, to see dropped fields and cost. Empty: one short question. Not stored."
            />
            <div class="row">
              <Button type="submit" look="main" disabled={isAsking}>
                {isAsking ? 'Planning…' : 'Plan'}
              </Button>
            </div>
          </form>
          {shown.error !== undefined && (
            <Notice tone="bad" title="No plan">
              <p>{shown.error.message}</p>
            </Notice>
          )}
          {shown.plan !== undefined && (
            <PlanShown
              plan={shown.plan}
              of={`${filters.model}, for ${filters.key === '' ? 'any key' : `the key ${filters.key}`} of ${namespace}`}
            />
          )}
        </>
      )}
    </>
  );
}

interface PlanAnswer {
  /** The question that was answered. */
  readonly question?: string;
  readonly plan?: Plan;
  readonly error?: ApiError;
}

function PlanShown({ plan, of }: { readonly plan: Plan; readonly of: string }) {
  const { formats } = useShell();
  const { refusal, targets, estimate, limits, route } = plan;
  return (
    <>
      {refusal !== undefined && (
        <Notice tone="bad" title={`Refused: ${refusal.status} ${codeWords(refusal.code)}`}>
          <p>{refusal.message}</p>
        </Notice>
      )}
      <section class="panel" aria-labelledby="targets-heading">
        <h2 id="targets-heading">Targets of {of}</h2>
        {targets.length === 0 ? (
          <Empty title="No targets" />
        ) : (
          <Table
            caption="Targets in order"
            rows={targets}
            keyOf={({ order }) => String(order)}
            columns={[
              {
                label: 'Order',
                cell: ({ order, name }) => (
                  <>
                    {order}
                    {name !== undefined && <span class="under">{name}</span>}
                  </>
                ),
              },
              {
                label: 'Decision',
                cell: ({ state, share }) => (
                  <>
                    <Badge tone={state === 'wouldBeTried' && refusal === undefined ? 'good' : 'off'}>
                      {state === 'wouldBeTried' ? 'try' : 'skip'}
                    </Badge>
                    {share !== undefined && share < 1 && (
                      <span class="under">{formats.percent(share)} of first attempts</span>
                    )}
                  </>
                ),
              },
              {
                label: 'Reason',
                cell: ({ reasons }) => (
                  <ul class="reasons">
                    {reasons.map((reason) => (
                      <li key={reason}>{reason}</li>
                    ))}
                  </ul>
                ),
              },
              {
                label: 'Provider',
                cell: ({ provider, upstreamModel, endpoint, isOwn }) =>
                  provider === undefined ? (
                    isOwn ? (
                      'own provider'
                    ) : (
                      <span class="faint">platform provider</span>
                    )
                  ) : (
                    <>
                      {provider}
                      <span class="under">
                        {upstreamModel} · {endpoint}
                      </span>
                    </>
                  ),
              },
              {
                label: 'Dialect',
                cell: ({ verdict, lostFields }) => {
                  const { word, tone } = verdictWords(verdict);
                  return (
                    <>
                      <Badge tone={tone}>{word}</Badge>
                      {lostFields.length > 0 && <span class="under">{lostFields.join(', ')}</span>}
                    </>
                  );
                },
              },
            ]}
          />
        )}
      </section>
      <div class="columns">
        <section class="panel" aria-labelledby="estimate-heading">
          <h2 id="estimate-heading">Estimate</h2>
          <Facts
            facts={[
              ...(estimate === undefined
                ? []
                : [
                    [
                      'Input',
                      `${formats.number(estimate.inputTokens)} tokens${estimate.isOfExample ? ', of one short question' : ''}`,
                    ] as const,
                    ...(estimate.costPicodollars === undefined
                      ? [
                          [
                            'Cost',
                            'Unknown: no price set at the first target; keys with a budget that blocks cannot call it',
                          ] as const,
                        ]
                      : [
                          [
                            'Input cost',
                            estimate.isProvisioned
                              ? 'none: provisioned capacity'
                              : formats.money(usdOf(estimate.costPicodollars)),
                          ] as const,
                        ]),
                    ...(estimate.costPicodollarsMax === undefined
                      ? []
                      : [
                          [
                            'Maximum cost',
                            `${formats.money(usdOf(estimate.costPicodollarsMax))}, for the longest answer`,
                          ] as const,
                        ]),
                  ]),
              [
                'Route',
                route === undefined ? (
                  'none'
                ) : (
                  <Link
                    key="route"
                    to={pathOf('routes', route.namespace, route.name)}
                  >{`${route.namespace}/${route.name}`}</Link>
                ),
              ],
              ['Planned by', `${plan.pod ?? 'a gateway'}, table generation ${plan.generation}`],
            ]}
          />
        </section>
        <section class="panel" aria-labelledby="limits-heading">
          <h2 id="limits-heading">Limits</h2>
          {limits === undefined || limitLines(limits, formats).length === 0 ? (
            <Empty title="No limits apply" />
          ) : (
            <>
              <Facts
                isLong
                facts={limitLines(limits, formats).map(({ what, left }) => [what, left] as const)}
              />
              {(limits.sharedBy ?? 1) > 1 && (
                <p class="hint">
                  {limits.sharedBy} gateways share the limits; these are the remains of this gateway’s share.
                </p>
              )}
            </>
          )}
        </section>
      </div>
    </>
  );
}
