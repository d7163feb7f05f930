// From an object to its requests: all of them, and those that failed.

import { Link, useShell } from '../shell/context.tsx';
import { type RequestsWanted, requestsLink } from './link.ts';

export function SeeRequests({ of }: { readonly of: RequestsWanted }) {
  const { session } = useShell();
  if (!session.hasLedger) return null;
  return (
    <p>
      <Link to={requestsLink(of)}>Requests</Link>
      {' · '}
      <Link to={requestsLink({ ...of, outcome: 'error' })}>Failed and refused</Link>
    </p>
  );
}
