// What became of one request? Its attempts in words, what it cost, and for whom it was.

import { useEffect, useState } from 'preact/hooks';
import { Badge, CopyButton, Facts, Notice } from '../parts/basics.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { useAsked } from '../shell/asking.tsx';
import { Link, useAllNamespaces, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { requestsLink } from './link.ts';
import {
  type AttemptRow,
  attemptCost,
  attemptTone,
  attemptWords,
  costWords,
  endWords,
  type LogAnswer,
  ownerWords,
  type RequestRow,
} from './rows.ts';

/** The ledger has a request a second after its end; it may not have ended. */
const lookAgainMs = 500;
const looksMax = 60;
/** Three seconds: by now most are there. */
const looksSoon = 6;
/** Of a gateway, and of one of its attempts. */
const requestId = /^req_[0-9a-z_]+(\.\d+)?$/i;

export function RequestDialog({
  request,
  namespace,
  onClose,
}: {
  readonly request: string;
  readonly namespace: string | undefined;
  readonly onClose: () => void;
}) {
  const { api } = useShell();
  const all = useAllNamespaces();
  const isId = requestId.test(request);
  const [looks, setLooks] = useState(0);
  const question = `request ${request} in ${namespace ?? '*'}`;
  const { answer, error } = useAsked(
    isId ? question : undefined,
    (signal) => api.call<LogAnswer>('ledger/v1/request-log', { query: { request, namespace }, signal }),
    question,
    looks,
  );
  const [row] = answer?.rows ?? [];
  const isLooking = isId && row === undefined && error === undefined && looks < looksMax;
  useEffect(() => {
    if (!isLooking) return;
    const timer = setTimeout(() => setLooks(looks + 1), lookAgainMs);
    return () => clearTimeout(timer);
  }, [isLooking, looks]);
  return (
    <Dialog title={row === undefined ? 'Request' : `Request ${endWords(row).word}`} onClose={onClose} isWide>
      <p class="row">
        <code>{request}</code> <CopyButton text={request} label="Copy id" />
      </p>
      {error !== undefined ? (
        <Notice tone="bad" title="The request could not be loaded">
          <p>{error.message}</p>
        </Notice>
      ) : row !== undefined ? (
        <RequestFacts row={row} attempts={answer?.attempts ?? []} />
      ) : !isId ? (
        <Notice tone="warn" title="Not a request id">
          <p>Request ids begin with req_: the header x-request-id of a response.</p>
        </Notice>
      ) : isLooking && looks < looksSoon ? (
        <p class="loading" role="status">
          Looking for it: a request is here about a second after its end.
        </p>
      ) : (
        <Notice tone="off" title={isLooking ? 'Not found yet' : 'Not found'}>
          <p>
            No request of {namespace ?? 'any namespace'} has this id. Records may be gone after their
            retention, and of very many refusals some are only counted.
          </p>
          {namespace !== undefined && all !== undefined && (
            <p>
              <Link to={requestsLink({ namespace: all, request })}>Look in all namespaces</Link>
            </p>
          )}
        </Notice>
      )}
    </Dialog>
  );
}

function RequestFacts({
  row,
  attempts,
}: {
  readonly row: RequestRow;
  readonly attempts: readonly AttemptRow[];
}) {
  const { formats } = useShell();
  const { number, milliseconds, money } = formats;
  const { word, tone } = endWords(row);
  const [namespace = '', name = ''] = row.apiKey?.split('/') ?? [];
  const owner = ownerWords(row);
  const { input, cachedInput, output } = row.tokens;
  return (
    <>
      <h3>What happened</h3>
      {attempts.length === 0 ? (
        <ol class="attempts">
          <li>
            <Badge tone={tone}>{word}</Badge>
            <span>
              {row.cause}
              <span class="under">
                <code>{row.failure}</code>, without a call to a provider
              </span>
            </span>
          </li>
        </ol>
      ) : (
        <ol class="attempts">
          {attempts.map((attempt) => (
            <li key={attempt.attempt}>
              <Badge tone={attemptTone(attempt)}>
                {attempt.outcome === 'answered'
                  ? 'Answered'
                  : endWords({ ...attempt, status: attempt.upstreamStatus }).word}
              </Badge>
              <span>
                {attemptWords(attempt, formats)}
                <span class="under">
                  {[
                    attempt.target !== undefined && `target ${attempt.target}`,
                    attempt.upstreamModel,
                    attempt.providerKey !== undefined && `key ${attempt.providerKey}`,
                    attempt.firstContentMs !== undefined &&
                      attempt.outcome !== 'failed' &&
                      `first token ${milliseconds(attempt.firstContentMs)}`,
                    ...attemptCost(attempt, money),
                  ]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </span>
            </li>
          ))}
        </ol>
      )}
      <Facts
        facts={[
          ['Started', formats.time(row.startedAt)],
          ...(row.model === undefined
            ? []
            : [
                [
                  'Model',
                  row.requestedModel === undefined
                    ? row.model
                    : `${row.model}, asked as ${row.requestedModel}`,
                ] as const,
              ]),
          [
            'Key',
            row.apiKey === undefined ? (
              'unknown'
            ) : (
              <Link to={pathOf('keys', namespace, name)}>{row.apiKey}</Link>
            ),
          ],
          ...(owner === '' ? [] : [['Owner', owner] as const]),
          ...(row.route === undefined ? [] : [['Route', row.route] as const]),
          ...(row.durationMs === undefined
            ? []
            : [
                [
                  'Duration',
                  `${milliseconds(row.durationMs)}${row.firstContentMs === undefined ? '' : `, first token after ${milliseconds(row.firstContentMs)}`}`,
                ] as const,
              ]),
          ...(attempts.length === 0
            ? []
            : [
                [
                  'Tokens',
                  `${number(input)} in${cachedInput > 0 ? ` (${number(cachedInput)} cached)` : ''}, ${number(output)} out`,
                ] as const,
                ['Cost', costWords(row, money)] as const,
              ]),
          ...(row.clientDialect === undefined
            ? []
            : [['Dialect', `${row.clientDialect}${row.isStream ? ', stream' : ''}`] as const]),
        ]}
      />
    </>
  );
}
