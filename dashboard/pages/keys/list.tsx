// Which keys are there? Searched, sorted and paged by the server: ten thousand cost the browser no more than fifty.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { KeyRow, KeyRowsAnswer, KeyState } from '../../api-types.ts';
import { Actions, Ago, Answered, Badge, Empty, LastUsed, Meter } from '../parts/basics.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { type Column, Pager, Table } from '../parts/table.tsx';
import { mayAnywhere, useAgainWhenChanged, useAsked, useRights, useSettled } from '../shell/asking.tsx';
import { Link, type Shell, useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import type { Limits } from '../words/kube.ts';
import { KEY_STATES, limitWords, periodWords, stateWords, tightestBudget } from './words.ts';

const states = Object.keys(KEY_STATES) as KeyState[];
const spec = {
  q: { usual: '' },
  state: { usual: '', words: states },
  sort: { usual: 'name', words: ['name', 'owner', 'lastUsed', 'spend', 'expires'] },
  order: { usual: 'asc', words: ['asc', 'desc'] },
  offset: { usual: '0' },
} as const;
const limit = 50;
/** As many as the server searches. */
const KEYS_MAX = 50_000;

export function Keys() {
  const shell = useShell();
  const { api, session, namespace, path, search, go, formats, announce } = shell;
  const filters = readFilters(spec, search);
  const offset = Math.max(0, Math.trunc(Number(filters.offset)) || 0);
  const mayHere = useRights(namespace);
  const may = namespace === undefined ? mayAnywhere : mayHere;
  const [typed, setTyped] = useState(filters.q);
  const settled = useSettled(typed);
  const change = (changes: Partial<Record<keyof typeof spec, string>>, replaces = false) =>
    go(`${path}${writeFilters(spec, search, { offset: '0', ...changes })}`, { replaces });
  const shownQ = useRef(filters.q);
  useEffect(() => {
    if (settled === filters.q) return;
    shownQ.current = settled;
    change({ q: settled }, true);
  }, [settled]);
  // The address changed without typing, as by going back.
  useEffect(() => {
    if (filters.q === shownQ.current) return;
    shownQ.current = filters.q;
    setTyped(filters.q);
  }, [filters.q]);

  const query = {
    namespace,
    q: filters.q,
    state: filters.state,
    sort: filters.sort,
    order: filters.order,
    limit,
    offset,
  };
  const asked = useAsked(
    `rows ${JSON.stringify(query)}`,
    (signal) => api.call<KeyRowsAnswer>('rows/apikeys', { query, signal }),
    `keys of ${namespace ?? '*'}`,
  );
  useAgainWhenChanged('apikeys', namespace, asked);
  const total = asked.answer?.total;
  const isBehindEnd = asked.answer?.rows.length === 0 && total !== undefined && total > 0;
  useEffect(() => {
    if (isBehindEnd) change({ offset: String(Math.floor((total - 1) / limit) * limit) }, true);
  }, [isBehindEnd, total]);
  useEffect(() => {
    if (total !== undefined && filters.q !== '') announce(`${formats.counted(total, 'key')} found.`);
  }, [total, filters.q, formats, announce]);
  const tooMany = `Only the first ${formats.number(KEYS_MAX)} keys are searched${namespace === undefined ? '. Choose a namespace to see all of its keys' : ''}.`;
  const isNarrowed = filters.q !== '' || filters.state !== '';

  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Keys</h1>
        <Actions
          may={may}
          actions={[
            { label: 'Create key', right: 'create apikeys', look: 'main', onClick: () => go('/keys/new') },
          ]}
        />
      </div>
      <search class="filters">
        <TextField
          label="Search"
          type="search"
          placeholder="Name, owner, team or hint"
          value={typed}
          onInput={setTyped}
        />
        <SelectField
          label="State"
          value={filters.state}
          onInput={(state) => change({ state })}
          options={[
            { value: '', label: 'All' },
            ...states.map((state) => ({ value: state, label: KEY_STATES[state].word })),
          ]}
        />
      </search>
      <Answered asked={asked} what="Keys">
        {({ rows, total: found, spendFrom, isTruncated }) =>
          found === 0 ? (
            isNarrowed ? (
              <Empty title="No matching keys">
                <p>{isTruncated ? tooMany : 'Change the search, or show all states.'}</p>
              </Empty>
            ) : (
              <Empty title="No keys yet">
                <p>Programs call models with a key. It is created in this browser and shown once.</p>
              </Empty>
            )
          ) : (
            <>
              <Table<KeyRow>
                caption="API keys"
                rows={rows}
                columns={columnsFor(shell)}
                keyOf={({ uid }) => uid}
                sorted={{ by: filters.sort, order: filters.order === 'desc' ? 'desc' : 'asc' }}
                onSort={(sort, order) => change({ sort, order })}
              />
              <Pager
                offset={offset}
                limit={limit}
                total={found}
                onPage={(next) => change({ offset: String(next) })}
              />
              <p class="faint small">
                {formats.counted(found, 'key')}.{isTruncated && ` ${tooMany}`}
                {spendFrom === 'status' &&
                  (session.hasLedger
                    ? ' Spend is a few minutes old: the ledger is not answering.'
                    : ' Usage is not recorded: there is no ledger.')}
              </p>
            </>
          )
        }
      </Answered>
    </>
  );
}

function columnsFor({ formats, namespace }: Shell): readonly Column<KeyRow>[] {
  /** Where it is not known, that is not nothing. */
  const moneyOf = (spent: string | null | undefined) =>
    spent ? formats.money(spent) : <span class="faint">–</span>;
  return [
    {
      label: 'Name',
      sort: 'name',
      cell: (row) => (
        <>
          <Link to={pathOf('keys', row.namespace, row.name)}>{row.name}</Link>
          {row.displayName !== '' && <span class="under">{row.displayName}</span>}
          {namespace === undefined && <span class="under">{row.namespace}</span>}
        </>
      ),
    },
    { label: 'Hint', cell: ({ hint }) => (hint === '' ? <span class="faint">–</span> : <code>{hint}</code>) },
    {
      label: 'Owner',
      sort: 'owner',
      cell: ({ owner, team }) => (
        <>
          {owner || <span class="faint">–</span>}
          {team !== '' && team !== owner && <span class="under">{team}</span>}
        </>
      ),
    },
    {
      label: 'State',
      cell: (row) => {
        const { word, tone } = stateWords(row);
        return <Badge tone={tone}>{word}</Badge>;
      },
    },
    {
      label: 'Spend this month',
      sort: 'spend',
      isNumber: true,
      cell: ({ spend, budgets }) => {
        const budget = tightestBudget(budgets);
        return (
          <>
            {moneyOf(spend?.month)}
            {budget !== undefined && (
              <span class="under">
                {budget.share !== undefined && (
                  <Meter share={budget.share} label={`${formats.percent(budget.share)} of the budget`} />
                )}
                {moneyOf(budget.spend)} of {formats.money(budget.limit)} /{'\u00a0'}
                {periodWords(budget.period)}
              </span>
            )}
          </>
        );
      },
    },
    {
      label: 'Limits',
      cell: ({ limits }) => limitWords(limits as Limits | null, formats) || <span class="faint">none</span>,
    },
    { label: 'Last used', sort: 'lastUsed', cell: ({ lastUsedAt }) => <LastUsed at={lastUsedAt} /> },
    {
      label: 'Expires',
      sort: 'expires',
      cell: ({ expiresAt }) =>
        expiresAt === null ? <span class="faint">never</span> : <Ago at={expiresAt} />,
    },
  ];
}
