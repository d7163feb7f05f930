// Where is a key that the operator made? In a Secret; the pages may not read any, so they say how to.

import { useEffect, useRef } from 'preact/hooks';
import { Badge, Code, Notice } from '../parts/basics.tsx';
import { useObject } from '../shell/asking.tsx';
import { Link } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import type { ApiKey } from '../words/kube.ts';
import { standingOf } from '../words/standing.ts';

export function SecretMade({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  const { object } = useObject<ApiKey>('apikeys', namespace, name);
  const standing = object && standingOf(object);
  // What had the focus is gone with the form.
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus(), []);
  const secret = object?.status?.secretName ?? `${name}-key`;
  return (
    <section class="panel" ref={panel} tabIndex={-1} aria-label={`The key ${name}`}>
      <p role="status">
        <strong>{name}</strong>{' '}
        {standing !== undefined && <Badge tone={standing.tone}>{standing.word}</Badge>}
      </p>
      <p>
        The operator writes the key into the Secret <code>{secret}</code>. The dashboard cannot read Secrets;
        you can, with your own rights:
      </p>
      <Code
        label="Command that prints the key"
        text={`kubectl get secret ${secret} -n ${namespace} -o jsonpath='{.data.apiKey}' | base64 -d`}
      />
      {standing?.tone === 'bad' && <Notice tone="bad">{standing.message}</Notice>}
      <p>
        <Link to={pathOf('keys', namespace, name)}>Go to the key</Link>
      </p>
    </section>
  );
}
