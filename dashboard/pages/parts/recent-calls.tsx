// How did the calls of a route or a provider end in the last ten minutes? By the ledger, so to the second.

import type { HealthAnswer, HealthRow } from '../overview/ledger.ts';
import { requestsLink } from '../requests/link.ts';
import { ApiError } from '../shell/api.ts';
import { useAsked, useNow } from '../shell/asking.tsx';
import { Link, useAllNamespaces, useShell } from '../shell/context.tsx';
import { callsIn } from '../words/calls.ts';
import { Ago } from './basics.tsx';

const spanMs = 600_000;
const everyMs = 10_000;

/**
 * By provider and upstream model; for a user with rights in the route's namespace alone, of the route as a whole. Undefined: not known
 * (yet).
 */
export function useRecentCalls(
  of: { readonly route: string } | { readonly provider: string },
): readonly HealthRow[] | undefined {
  const { api, session } = useShell();
  const nowMs = useNow(everyMs);
  const from = `${new Date(nowMs - spanMs).toISOString().slice(0, 19)}Z`;
  const question = session.hasLedger ? `recent calls of ${JSON.stringify(of)}` : undefined;
  const asked = useAsked(
    question,
    async (signal) => {
      const ask = (query: Readonly<Record<string, string>>) =>
        api.call<HealthAnswer>('ledger/v1/health', { query: { ...of, from, ...query }, signal });
      try {
        return await ask({});
      } catch (error) {
        const isRefused = error instanceof ApiError && error.status === 403;
        if (!isRefused || !('route' in of)) throw error;
        return await ask({ namespace: of.route.split('/')[0] ?? '' });
      }
    },
    question,
    nowMs,
  );
  return asked.answer?.health;
}

/** As in "39 of 39 failed: answered HTTP 500, 5 seconds ago", with the first tokens of a single row. */
export function RecentCalls({ rows }: { readonly rows: readonly HealthRow[] }) {
  const { formats } = useShell();
  const { calls, failed, last } = callsIn(rows);
  if (calls === 0) return <span class="faint">no calls</span>;
  const first = rows.length === 1 ? rows[0]?.firstContentMs : undefined;
  return (
    <>
      {failed === 0
        ? `${formats.counted(calls, 'call')} answered`
        : `${formats.number(failed)} of ${formats.number(calls)} failed`}
      {first && (
        <span class="under">
          first token p50 {formats.milliseconds(first.p50)}, p90 {formats.milliseconds(first.p90)}
        </span>
      )}
      {failed > 0 && last && <LastFailure row={last} />}
    </>
  );
}

/** Cause, age, and the request to look at. */
export function LastFailure({ row: { lastFailure, lastFailedAt } }: { readonly row: HealthRow }) {
  const namespace = useAllNamespaces();
  if (lastFailedAt === undefined) return <span class="faint">never</span>;
  return (
    <span class="under">
      {lastFailure?.cause && <>{lastFailure.cause}, </>}
      <Ago at={lastFailedAt} />
      {lastFailure && (
        <>
          {' · '}
          <Link to={requestsLink({ namespace, request: lastFailure.request })}>
            <span class="unseen">request </span>
            {lastFailure.request.slice(0, 12)}…
          </Link>
        </>
      )}
    </span>
  );
}
