// Where is a key that this browser did not create? In a Secret or a file. The pages may read neither, so they say how to.

import { useEffect, useRef } from 'preact/hooks';
import { Badge, Code, Notice } from '../parts/basics.tsx';
import { useObject } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import type { ApiKey } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { type KeyPlace, placeOfKey } from './read-key.ts';

export function SecretMade({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { session } = useShell();
  const { object } = useObject<ApiKey>('apikeys', namespace, name);
  const status = object && statusOf(object);
  // What had the focus is gone with the form.
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus(), []);
  const place = placeOfKey(session.mode, namespace, name, object);
  return (
    <section class="panel" ref={panel} tabIndex={-1} aria-label={`The key ${name}`}>
      <p role="status">
        <strong>{name}</strong> {status !== undefined && <Badge tone={status.tone}>{status.word}</Badge>}
      </p>
      {place.kind === 'Secret' && (
        <p>
          The operator writes the key to the Secret <code>{place.name}</code>. The dashboard cannot read
          Secrets. Read it with your own rights:
        </p>
      )}
      <ReadKey place={place} />
      {status?.tone === 'bad' && <Notice tone="bad">{status.message}</Notice>}
      <p>
        <Link to={pathOf('keys', namespace, name)}>Open the key</Link>
      </p>
    </section>
  );
}

export function ReadKey({ place: { kind, command } }: { readonly place: KeyPlace }) {
  return (
    <>
      {kind === 'file' && (
        <p>
          The key is in a file on this machine. Run this in the folder where Penstock was started (if
          PENSTOCK_STATE_DIR is set, use that folder instead of <code>.penstock</code>):
        </p>
      )}
      <Code label="Command that prints the key" text={command} />
    </>
  );
}
