// From an object to its requests: all of them, those that failed, and those that were refused.

import { Link, useAllNamespaces, useShell } from '../shell/context.tsx';
import { type RequestsWanted, requestsLink } from './link.ts';

/** A model or a Provider is called by keys of any namespace, so only a key narrows the namespace. */
export function SeeRequests({ of: wanted }: { readonly of: RequestsWanted }) {
  const all = useAllNamespaces();
  const of = wanted.apiKey === undefined ? { namespace: all, ...wanted } : wanted;
  const { session } = useShell();
  if (!session.hasLedger) return null;
  return (
    <p>
      <Link to={requestsLink(of)}>Requests</Link>
      {' · '}
      <Link to={requestsLink({ ...of, outcome: 'error' })}>Errors</Link>
      {' · '}
      <Link to={requestsLink({ ...of, outcome: 'refused' })}>Refused</Link>
    </p>
  );
}
