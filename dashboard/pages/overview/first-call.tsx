// What does an installation without a single request show? One call to copy, which it waits for, and then what came of it.

import { useEffect, useState } from 'preact/hooks';
import { snippetsFor } from '../keys/snippets.ts';
import { Actions, Badge, Button, Code, Notice } from '../parts/basics.tsx';
import { requestsLink } from '../requests/link.ts';
import { type Asked, mayAnywhere, useObjects, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import type { ModelRoute } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import type { SeriesAnswer, SeriesRow } from './ledger.ts';

const everyMs = 3_000;

/** @param hasKeys undefined: that is not known yet. */
export function FirstCall({
  hasKeys,
  waiting,
}: {
  readonly hasKeys: boolean | undefined;
  readonly waiting: Pick<Asked<unknown>, 'again'>;
}) {
  const { session, namespace, go } = useShell();
  const mayHere = useRights(namespace);
  const routes = useObjects<ModelRoute>('modelroutes', namespace);
  const { again } = waiting;
  useEffect(() => {
    if (!session.hasLedger) return;
    const timer = setInterval(again, everyMs);
    return () => clearInterval(timer);
  }, [again, session.hasLedger]);
  const good = routes.objects?.find((route) => statusOf(route).tone === 'good');
  const address = session.gatewayUrl ?? 'https://gateway.example.com';
  const [curl] = snippetsFor(address, 'YOUR_KEY', good?.spec.model ?? 'your-model');
  return (
    <section class="panel first" aria-labelledby="first-heading">
      <h2 id="first-heading">{hasKeys === false ? 'Create your first key' : 'Send your first request'}</h2>
      {hasKeys === false && (
        <>
          <p>Programs call models with a key and the SDK they already use.</p>
          <Actions
            may={namespace === undefined ? mayAnywhere : mayHere}
            actions={[
              { label: 'Create key', right: 'create apikeys', look: 'main', onClick: () => go('/keys/new') },
            ]}
          />
        </>
      )}
      <dl class="facts">
        <div>
          <dt>OpenAI SDK, Codex</dt>
          <dd>
            <code>{address}/v1</code>
          </dd>
        </div>
        <div>
          <dt>Anthropic SDK, Claude Code</dt>
          <dd>
            <code>{address}</code> (without /v1)
          </dd>
        </div>
      </dl>
      {curl !== undefined && <Code text={curl.text} label="First request" />}
      {session.hasLedger && (
        <p role="status">
          <Badge tone="busy">Waiting</Badge> for the first request. It appears here within seconds.
        </p>
      )}
    </section>
  );
}

/** The first call, which arrived while the page was open. */
export function FirstCame({ answer }: { readonly answer: SeriesAnswer | undefined }) {
  const { formats } = useShell();
  const [row, setRow] = useState<SeriesRow | undefined>(undefined);
  const [isRead, setRead] = useState(false);
  // Later calls are not the first.
  const found = row ?? answer?.rows.at(-1);
  useEffect(() => setRow(found), [found]);
  if (found === undefined || isRead) return null;
  const { apiKey = '', failed = 0, tokens, costUsd } = found;
  return (
    <Notice
      tone={failed > 0 ? 'bad' : 'good'}
      title={failed > 0 ? 'The first request failed' : 'The first request was answered'}
    >
      <p>
        Key {apiKey} · {formats.number(tokens.input)} tokens in, {formats.number(tokens.output)} out ·{' '}
        {formats.money(costUsd)} · <Link to={requestsLink({ period: '1h' })}>Requests</Link>
      </p>
      <Button onClick={() => setRead(true)}>Close</Button>
    </Notice>
  );
}
