// Which requests were there, and what became of each? The newest follow by themselves, and every row opens its attempts.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { PERIOD_LABELS, PERIODS, type Period, periodQuery } from '../overview/period.ts';
import { Badge, Button, Empty, NoLedger, Notice } from '../parts/basics.tsx';
import { CsvButton } from '../parts/csv.tsx';
import { Choice, SelectField, TextField } from '../parts/fields.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useAsked, useNow, useVisible } from '../shell/asking.tsx';
import { Link, type Shell, useShell } from '../shell/context.tsx';
import { readFilters, writeFilters } from '../shell/filters.ts';
import { pathOf } from '../shell/place.ts';
import { serverClock } from '../shell/server-clock.ts';
import { RequestDialog } from './details.tsx';
import { REQUEST_OUTCOMES } from './link.ts';
import {
  CSV_HEAD,
  causeWords,
  csvRow,
  endWords,
  type Known,
  type LogAnswer,
  ownerWords,
  type RequestRow,
  withNewest,
  withOlder,
} from './rows.ts';

const spec = {
  outcome: { usual: '', words: REQUEST_OUTCOMES },
  status: { usual: '' },
  code: { usual: '' },
  apiKey: { usual: '' },
  model: { usual: '' },
  provider: { usual: '' },
  request: { usual: '' },
  order: { usual: 'newest', words: ['newest', 'failures'] },
  period: { usual: '24h', words: PERIODS },
} as const;
type Name = keyof typeof spec;

const outcomeWords: Readonly<Record<string, string>> = {
  error: 'Errors',
  refused: 'Refused',
  failed: 'Failed',
  'broken-off': 'Cut off',
  interrupted: 'Interrupted',
  cancelled: 'Cancelled',
  answered: 'Answered',
};
const outcomeHelp: Readonly<Record<string, string>> = {
  error: 'Failed, cut off or interrupted, or not sent because no provider was available.',
  refused: 'Refused by the gateway itself. No provider was called.',
  failed: 'No provider answered. The caller received an error.',
  'broken-off': 'The provider stopped after the caller had received a part.',
  interrupted: 'The gateway process ended during the answer.',
  cancelled: 'The caller ended the request before its answer was complete.',
  answered: 'The caller received the whole answer, if need be after failed attempts.',
};
const limit = 50;
const tailMs = 2_000;
/** Scrolled further down than this, the user is reading, and the list must not move. */
const topPx = 120;
const none: Known = { rows: [], next: undefined };

export function Requests() {
  const shell = useShell();
  const { api, session, path, search, go, formats } = shell;
  const filters = readFilters(spec, search);
  const change = (changes: Partial<Record<Name, string>>, replaces = false) =>
    go(`${path}${writeFilters(spec, search, changes)}`, { replaces });
  const { request, period, ...narrowing } = filters;
  // The namespace is part of a key's name, whichever namespace is picked.
  const namespace = filters.apiKey.includes('/') ? filters.apiKey.split('/')[0] : shell.namespace;
  const query = { ...narrowing, namespace, limit };
  const question = JSON.stringify([query, period]);

  const [isFollowing, setFollowing] = useState(true);
  const tail = useTail(isFollowing && filters.order === 'newest' && request === '');
  // Without an end, so that requests which arrive during the question are included.
  const fromNow = () => periodQuery(period as Period, serverClock.now()).from;
  const asked = useAsked(
    session.hasLedger ? question : undefined,
    (signal) =>
      api.call<LogAnswer>('ledger/v1/request-log', { query: { ...query, from: fromNow() }, signal }),
    `requests of ${namespace ?? '*'}`,
    tail.moment,
  );
  const { answer, error, again } = asked;
  const [known, setKnown] = useState<Known & { readonly question: string }>({ question, ...none });
  useEffect(() => {
    if (answer === undefined) return;
    setKnown((before) => {
      const isSame = before.question === question && filters.order === 'newest';
      return { question, ...withNewest(isSame ? before : none, answer) };
    });
  }, [answer]);
  const { rows, next } = known;
  const isLoading = answer === undefined && error === undefined;
  const [isAskingOlder, setAskingOlder] = useState(false);
  const [olderError, setOlderError] = useState('');
  const askOlder = async () => {
    setAskingOlder(true);
    setOlderError('');
    try {
      const older = await api.call<LogAnswer>('ledger/v1/request-log', {
        query: { ...query, from: fromNow(), before: next },
      });
      setKnown((before) =>
        before.question === question ? { question, ...withOlder(before, older) } : before,
      );
    } catch (failed) {
      setOlderError(failed instanceof Error ? failed.message : String(failed));
    }
    setAskingOlder(false);
  };
  const isNarrowed = Object.entries(narrowing).some(([name, value]) => value !== spec[name as Name].usual);
  const seesProviders = filters.provider !== '' || rows.some(({ provider }) => provider !== undefined);
  const onlyCounted = answer?.refusedWithoutRow ?? 0;
  const text = (name: Name, label: string, placeholder: string, list?: readonly string[]) => (
    <TypedFilter
      {...{ label, placeholder, list }}
      value={filters[name]}
      onChange={(value) => change({ [name]: value })}
    />
  );
  const among = (of: (row: RequestRow) => string | undefined) => [
    ...new Set(rows.flatMap((row) => of(row) ?? [])),
  ];

  if (!session.hasLedger)
    return (
      <>
        <h1 tabIndex={-1}>Requests</h1>
        <NoLedger>requests cannot be listed</NoLedger>
      </>
    );
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Requests</h1>
        <div class="row">
          {filters.order === 'newest' && (
            <Button look="quiet" pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
              {isFollowing ? (tail.isPaused ? 'Live (paused while you read)' : 'Live') : 'Live off'}
            </Button>
          )}
          <CsvButton what="Requests" head={CSV_HEAD} rows={() => rows.map(csvRow)} />
        </div>
      </div>
      <search class="filters many">
        {text('request', 'Request id', 'x-request-id of a response')}
        <SelectField
          label="Outcome"
          value={filters.outcome}
          onInput={(outcome) => change({ outcome })}
          options={[
            { value: '', label: 'All' },
            ...REQUEST_OUTCOMES.map((value) => ({ value, label: outcomeWords[value] ?? value })),
          ]}
        />
        {text(
          'status',
          'Status',
          '429',
          among(({ status }) => status?.toString()),
        )}
        {text(
          'code',
          'Reason',
          'Any',
          among(({ failure }) => failure),
        )}
        {text(
          'apiKey',
          'Key',
          'team-a/ci',
          among(({ apiKey }) => apiKey),
        )}
        {text(
          'model',
          'Model',
          'Any',
          among(({ model }) => model),
        )}
        {seesProviders &&
          text(
            'provider',
            'Provider',
            'team-a/openai',
            among(({ provider }) => provider),
          )}
        <Choice<Period>
          label="Period"
          value={period as Period}
          onInput={(value) => change({ period: value })}
          options={PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] }))}
        />
        <Choice<'newest' | 'failures'>
          label="Order"
          value={filters.order === 'failures' ? 'failures' : 'newest'}
          onInput={(order) => change({ order })}
          options={[
            { value: 'newest', label: 'Newest' },
            { value: 'failures', label: 'Failures first' },
          ]}
        />
        {isNarrowed && (
          <Button
            look="quiet"
            onClick={() =>
              change(
                Object.fromEntries(Object.keys(narrowing).map((name) => [name, spec[name as Name].usual])),
              )
            }
          >
            Clear filters
          </Button>
        )}
      </search>
      {outcomeHelp[filters.outcome] !== undefined && <p class="hint">{outcomeHelp[filters.outcome]}</p>}
      {error !== undefined && (
        <Notice
          tone="bad"
          title={rows.length === 0 ? 'Requests could not be loaded' : 'Requests: out of date'}
        >
          <p>{error.message}</p>
          <Button onClick={again}>Try again</Button>
        </Notice>
      )}
      {onlyCounted > 0 && (
        <Notice tone="warn">
          <p>
            {formats.counted(onlyCounted, 'further refusal')} of this period{' '}
            {onlyCounted === 1 ? 'was' : 'were'} only counted: gateways list the first twenty of a second.
          </p>
        </Notice>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the pointer only pauses the live list, so that a row stays where it is read */}
      <div
        class="log"
        aria-busy={isLoading}
        onMouseEnter={() => tail.hold(true)}
        onMouseLeave={() => tail.hold(false)}
      >
        {isLoading ? (
          <p class="loading" role="status">
            Requests: loading…
          </p>
        ) : rows.length === 0 && error === undefined ? (
          <Empty title={isNarrowed ? 'No matching requests' : 'No requests in this period'}>
            <p>{isNarrowed ? 'Change the filters or the period.' : 'Choose a longer period.'}</p>
          </Empty>
        ) : (
          rows.length > 0 && (
            <Table<RequestRow>
              caption="Requests"
              rows={rows}
              columns={columnsFor(shell, seesProviders, (id) => change({ request: id }))}
              keyOf={(row) => row.request}
            />
          )
        )}
      </div>
      {olderError !== '' && (
        <Notice tone="bad" title="Older requests could not be loaded">
          <p>{olderError}</p>
        </Notice>
      )}
      {rows.length > 0 && (
        <div class="pager">
          <p class="faint small">{formats.counted(rows.length, 'request')} shown.</p>
          {next !== undefined && (
            <Button disabled={isAskingOlder} onClick={() => void askOlder()}>
              {filters.order === 'failures' ? 'Load more' : 'Load older'}
            </Button>
          )}
        </div>
      )}
      {request !== '' && (
        <RequestDialog
          key={`${request} ${namespace}`}
          request={request}
          namespace={namespace}
          onClose={() => change({ request: '' })}
        />
      )}
    </>
  );
}

/** Counts up while the newest requests are followed; pauses while the user reads a row, and while the page is hidden. */
function useTail(isWanted: boolean) {
  const isVisible = useVisible();
  const [moment, setMoment] = useState(0);
  const [isHeld, hold] = useState(false);
  const [isDown, setDown] = useState(false);
  useEffect(() => {
    const look = () => setDown(scrollY > topPx);
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  const isPaused = isHeld || isDown;
  const isRunning = isWanted && isVisible && !isPaused;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setMoment((before) => before + 1), tailMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  return { moment, isPaused, hold };
}

/** Taken over when it is left, on Enter, or with a word of the list. */
function TypedFilter({
  label,
  placeholder,
  list,
  value,
  onChange,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly list: readonly string[] | undefined;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  // Before paint: no frame shows the previous filter.
  useLayoutEffect(() => setTyped(value), [value]);
  const wrapper = useRef<HTMLDivElement>(null);
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    const take = (event: Event) => {
      if (event.target instanceof HTMLInputElement) latest.current(event.target.value.trim());
    };
    const shown = wrapper.current;
    shown?.addEventListener('change', take);
    return () => shown?.removeEventListener('change', take);
  }, []);
  return (
    <div ref={wrapper} class={list === undefined ? 'first' : undefined}>
      <TextField
        {...{ label, placeholder }}
        {...(list === undefined ? { type: 'search' } : { list })}
        value={typed}
        onInput={setTyped}
      />
    </div>
  );
}

function columnsFor(
  { formats, namespace }: Shell,
  seesProviders: boolean,
  open: (request: string) => void,
): readonly Column<RequestRow>[] {
  const dash = <span class="faint">–</span>;
  const columns: readonly (Column<RequestRow> | false)[] = [
    {
      label: 'Time',
      cell: (row) => (
        <>
          <button type="button" class="link" onClick={() => open(row.request)}>
            <Clock at={row.startedAt} />
            <span class="unseen"> open request</span>
          </button>
          <span class="under">
            <code title={row.request}>…{row.request.slice(-8)}</code>
          </span>
        </>
      ),
    },
    {
      label: 'Status',
      cell: (row) => {
        const { word, tone } = endWords(row);
        const cause = causeWords(row);
        return (
          <>
            <Badge tone={tone}>{word}</Badge>
            {cause !== undefined && <span class="under clamp">{cause}</span>}
          </>
        );
      },
    },
    {
      label: 'Model',
      cell: ({ model, requestedModel }) => (
        <>
          {model === undefined ? dash : <code>{model}</code>}
          {requestedModel !== undefined && <span class="under">as {requestedModel}</span>}
        </>
      ),
    },
    {
      label: 'Key',
      cell: (row) => {
        const [of = '', name = ''] = row.apiKey?.split('/') ?? [];
        return (
          <>
            {row.apiKey === undefined ? dash : <Link to={pathOf('keys', of, name)}>{name}</Link>}
            <span class="under">
              {[namespace === undefined && of, ownerWords(row)].filter(Boolean).join(' · ')}
            </span>
          </>
        );
      },
    },
    seesProviders && {
      label: 'Provider',
      cell: ({ provider, attempts, outcome }) => {
        const [of = '', name = ''] = provider?.split('/') ?? [];
        return (
          <>
            {provider === undefined ? dash : <Link to={pathOf('providers', of, name)}>{name}</Link>}
            {attempts > 1 && (
              <span class="under">
                {outcome === 'answered'
                  ? `after ${formats.counted(attempts - 1, 'failed attempt')}`
                  : `${formats.number(attempts)} attempts`}
              </span>
            )}
          </>
        );
      },
    },
    !seesProviders && {
      label: 'Attempts',
      isNumber: true,
      cell: ({ attempts }) => formats.number(attempts),
    },
    {
      label: 'Tokens',
      isNumber: true,
      cell: ({ tokens: { input, output } }) =>
        input + output === 0 ? dash : `${formats.number(input)} + ${formats.number(output)}`,
    },
    {
      label: 'Cost',
      isNumber: true,
      cell: ({ costUsd, attempts }) => (costUsd === null || attempts === 0 ? dash : formats.money(costUsd)),
    },
    {
      label: 'Duration',
      isNumber: true,
      cell: ({ durationMs, firstContentMs }) => (
        <>
          {durationMs === undefined ? dash : formats.milliseconds(durationMs)}
          {firstContentMs !== undefined && (
            <span class="under">first token {formats.milliseconds(firstContentMs)}</span>
          )}
        </>
      ),
    },
  ];
  return columns.filter((column) => column !== false);
}

function Clock({ at }: { readonly at: string }) {
  const { formats } = useShell();
  const nowMs = useNow();
  return (
    <time dateTime={at} title={formats.time(at)}>
      {formats.clock(at, nowMs)}
    </time>
  );
}
