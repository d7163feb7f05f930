// What would happen with a request? The gateway's own router says it, with the reason for each target; nothing is sent.

import { useRef, useState } from 'preact/hooks';
import { Badge, Button, Empty, Facts, NoLedger, Notice } from '../parts/basics.tsx';
import { CheckField, focusFirstProblem, SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { Table } from '../parts/table.tsx';
import type { ApiError } from '../shell/api.ts';
import { useAsked } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import { DIALECTS } from '../words/choices.ts';
import { type Catalog, modelsOf, verdictWords } from './catalog.ts';
import { limitLines, type Plan, parseBody, usdOf } from './plan.ts';

const spec = {
  model: { usual: '' },
  key: { usual: '' },
  dialect: { usual: 'chat', words: Object.keys(DIALECTS) },
  stream: { usual: 'yes', words: ['yes', 'no'] },
} as const;

export function PlanView() {
  const { api, session, namespace, path, search, go, announce } = useShell();
  const filters = readFilters(spec, search);
  const [body, setBody] = useState('');
  const [problems, setProblems] = useState<{ readonly model?: string; readonly body?: string }>({});
  const [answer, setAnswer] = useState<PlanAnswer>({});
  const [isAsking, setAsking] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const change = (changes: Partial<Record<keyof typeof spec, string>>) =>
    go(`${path}${writeFilters(spec, search, changes)}`, { replaces: true });
  const catalog = useAsked(
    namespace === undefined || !session.hasLedger ? undefined : `catalog ${namespace}`,
    (signal) => api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace }, signal }),
  );
  const models = catalog.answer === undefined ? [] : modelsOf(catalog.answer);

  // What was answered to something else is not shown below this.
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
    const found: { model?: string; body?: string } = {};
    if (filters.model === '') found.model = 'Which model? Write its id.';
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
      if (now.current === question) announce('The plan is there.');
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
          The gateway’s own router says what would happen at this moment. Nothing is sent, reserved or billed.
        </p>
      </div>
      {!session.hasLedger ? (
        <NoLedger>nobody asks a gateway what it would do</NoLedger>
      ) : namespace === undefined ? (
        <Empty title="Choose a namespace">
          <p>A plan is for a key of one namespace. Pick it at the top.</p>
        </Empty>
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
                placeholder="Any of this namespace"
                value={filters.key}
                onInput={(key) => change({ key })}
                hint="Name of an ApiKey, for its own limits and models."
              />
            </div>
            <div class="pair">
              <SelectField
                label="Client speaks"
                value={filters.dialect}
                onInput={(dialect) => change({ dialect })}
                options={Object.entries(DIALECTS).map(([value, label]) => ({ value, label }))}
              />
              <div class="field">
                <span class="label-like">Answer</span>
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
              hint="JSON, for lost fields and cost of this very request. Empty: one short question. It goes to the gateway and is kept nowhere."
            />
            <div class="row">
              <Button type="submit" look="main" disabled={isAsking}>
                {isAsking ? 'Planning…' : 'Plan'}
              </Button>
            </div>
          </form>
          {shown.error !== undefined && (
            <Notice tone="bad" title="There is no plan">
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
  /** That it is to. */
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
        <Notice tone="bad" title={`The caller would be told ${refusal.status} ${refusal.code}`}>
          <p>{refusal.message}</p>
        </Notice>
      )}
      <section class="panel" aria-labelledby="targets-heading">
        <h2 id="targets-heading">Targets of {of}</h2>
        {targets.length === 0 ? (
          <Empty title="No target would be tried" />
        ) : (
          <Table
            caption="Targets, in the order in which they would be tried"
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
                label: 'Would be',
                cell: ({ state, share }) => (
                  <>
                    <Badge tone={state === 'wouldBeTried' ? 'good' : 'off'}>
                      {state === 'wouldBeTried' ? 'tried' : 'skipped'}
                    </Badge>
                    {share !== undefined && share < 1 && (
                      <span class="under">{formats.percent(share)} of first attempts</span>
                    )}
                  </>
                ),
              },
              {
                label: 'Because',
                cell: ({ reasons }) => (
                  <ul class="reasons">
                    {reasons.map((reason) => (
                      <li key={reason}>{reason}</li>
                    ))}
                  </ul>
                ),
              },
              {
                label: 'At',
                cell: ({ provider, upstreamModel, endpoint, isOwn }) =>
                  provider === undefined ? (
                    isOwn ? (
                      'your own provider'
                    ) : (
                      <span class="faint">a provider of the platform</span>
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
                      ? [['Cost', 'not known: the first target has no price'] as const]
                      : [['Cost of the input', formats.money(usdOf(estimate.costPicodollars))] as const]),
                    ...(estimate.costPicodollarsMax === undefined
                      ? []
                      : [
                          [
                            'At most',
                            `${formats.money(usdOf(estimate.costPicodollarsMax))}, with the longest answer`,
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
              ['Said by', `${plan.pod ?? 'a gateway'}, at table generation ${plan.generation}`],
            ]}
          />
        </section>
        <section class="panel" aria-labelledby="limits-heading">
          <h2 id="limits-heading">Limits</h2>
          {limits === undefined || limitLines(limits, formats).length === 0 ? (
            <Empty title="Nothing limits this request" />
          ) : (
            <>
              <Facts
                isLong
                facts={limitLines(limits, formats).map(({ what, left }) => [what, left] as const)}
              />
              {(limits.sharedBy ?? 1) > 1 && (
                <p class="hint">
                  Each of {limits.sharedBy} gateways keeps its share; what is left is that of this one.
                </p>
              )}
            </>
          )}
        </section>
      </div>
    </>
  );
}
