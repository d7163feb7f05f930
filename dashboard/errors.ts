// What does the server answer when it refuses a request itself? One shape: the fact, then the action.

import type { ErrorAnswer, ErrorCode } from './api-types.ts';

export class DashboardError extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  /** @param message is shown to people as it is: nothing secret, no address inside the cluster. */
  constructor(
    status: number,
    code: ErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function errorAnswer({ message, code }: Pick<DashboardError, 'message' | 'code'>): ErrorAnswer {
  return { error: { message, code } };
}

export const badParameter = (message: string): DashboardError =>
  new DashboardError(400, 'invalid_parameter', message);
export const badBody = (message: string): DashboardError => new DashboardError(400, 'invalid_body', message);
export const notSignedIn = (): DashboardError =>
  new DashboardError(
    401,
    'not_signed_in',
    'You are not signed in, or your session has ended. Sign in again.',
  );
export const renewalRefused = (): DashboardError =>
  new DashboardError(401, 'renewal_refused', 'Your session has ended at the issuer. Sign in again.');
export const issuerAway = (): DashboardError =>
  new DashboardError(
    503,
    'issuer_unreachable',
    'Your token has expired, and the issuer does not answer. Try again.',
    { 'retry-after': '5' },
  );
export const notFound = (): DashboardError =>
  new DashboardError(404, 'not_found', 'Nothing exists at this address.');
export const clusterAway = (): DashboardError =>
  new DashboardError(503, 'cluster_unreachable', 'Kubernetes does not answer. Try again.', {
    'retry-after': '2',
  });
/** To ask again does not help. */
export const noLedger = (): DashboardError =>
  new DashboardError(
    503,
    'no_ledger',
    'Models, plans, spend and requests need the ledger, and this installation has none. Set ledger.enabled in the chart.',
  );
export const olderLedger = (): DashboardError =>
  new DashboardError(
    503,
    'ledger_older',
    'The ledger is of an older release and does not add up owners. Update the ledger to the release of the dashboard.',
  );
export const ledgerAway = (message: string): DashboardError =>
  new DashboardError(503, 'ledger_unreachable', message, { 'retry-after': '2' });
