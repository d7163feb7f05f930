// What does somebody do with a key that was just made? Keep it, wait until every gateway knows it, paste a snippet, try it.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Catalog, modelsOf } from '../models/catalog.ts';
import { Badge, Button, Code, CopyButton, Notice } from '../parts/basics.tsx';
import { SelectField } from '../parts/fields.tsx';
import { useAsked, useObject } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { useKept } from '../shell/leaving.tsx';
import { pathOf } from '../shell/place.ts';
import { serverClock } from '../shell/server-clock.ts';
import { DIALECTS } from '../words/choices.ts';
import type { ApiKey } from '../words/kube.ts';
import { isProgrammed, standingOf } from '../words/standing.ts';
import { canCall, pairOf } from './callable.ts';
import type { MintedKey } from './mint-key.ts';
import { endOfOthers, holds } from './rotate.ts';
import { snippetsFor } from './snippets.ts';
import { TestCall } from './test-call.tsx';

interface KeyMadeProps {
  readonly minted: MintedKey;
  readonly namespace: string;
  readonly name: string;
  /** It takes the place of another one. */
  readonly isRotated?: boolean;
  readonly whenDone?: () => void;
}

export function KeyMade({ minted, namespace, name, isRotated = false, whenDone }: KeyMadeProps) {
  const { announce, formats } = useShell();
  const [isKept, setKept] = useState(false);
  const { object, error } = useObject<ApiKey>('apikeys', namespace, name);
  const held = object !== undefined && holds(object, minted) ? object : undefined;
  const isReady = held !== undefined && isProgrammed(held);
  const before = held && endOfOthers(held, minted, serverClock.now());
  const standing = object && standingOf(object);
  useKept(!isKept);
  // What had the focus is gone with the form.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  useEffect(() => {
    if (isReady) announce('Every gateway pod knows the key. It works now.');
  }, [isReady, announce]);

  return (
    <>
      <section class="panel key-shown" aria-labelledby="key-shown-heading">
        <h2 id="key-shown-heading" ref={heading} tabIndex={-1}>
          This is the key of {name}. It is shown once.
        </h2>
        <p>
          It was made in this browser. No server, Secret, log or backup holds it, so nobody can show it to you
          again.
        </p>
        <div class="key-line">
          <code
            class="key"
            data-testid="key"
            onCopy={() => {
              if (getSelection()?.toString().includes(minted.key)) setKept(true);
            }}
          >
            {minted.key}
          </code>
          <CopyButton text={minted.key} label="Copy key" whenCopied={() => setKept(true)} />
        </div>
        {isRotated && before !== undefined && (
          <p>The key before works until {formats.time(before)}. Move its clients to the new one by then.</p>
        )}
        {isRotated && held !== undefined && before === undefined && <p>The key before works no longer.</p>}
        <p role="status">
          {isReady ? (
            <>
              <Badge tone="good">Programmed</Badge> Every gateway pod knows it.
            </>
          ) : standing?.tone === 'bad' ? (
            <>
              <Badge tone="bad">{standing.word}</Badge> {standing.message}
            </>
          ) : (
            <>
              <Badge tone="busy">Waiting</Badge> Gateway pods are taking it up; this takes a second or so.
            </>
          )}
        </p>
        {error !== undefined && <Notice tone="warn">{error.message}</Notice>}
      </section>
      {isReady && <UseKey keyText={minted.key} namespace={namespace} name={name} />}
      <p class="row">
        {whenDone === undefined ? (
          <Link to={pathOf('keys', namespace, name)} isSure>
            Done: forget the key here and go to {name}
          </Link>
        ) : (
          <Button onClick={whenDone}>Done: forget the key here</Button>
        )}
      </p>
    </>
  );
}

/** @param keyText with the key itself, or what stands in its place. */
export function UseKey({
  keyText,
  namespace,
  name,
  isPlaceholder = false,
}: {
  readonly keyText: string;
  readonly namespace: string;
  readonly name: string;
  readonly isPlaceholder?: boolean;
}) {
  const { api, session } = useShell();
  const [model, setModel] = useState('');
  const [shown, setShown] = useState('curl');
  const catalog = useAsked(session.hasLedger ? `catalog ${namespace}/${name}` : undefined, (signal) =>
    api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace, apiKey: name }, signal }),
  );
  const models = catalog.answer === undefined ? [] : modelsOf(catalog.answer);
  const address = session.gatewayUrl ?? 'https://gateway.example.com';
  const snippetsOf = (id: string) => snippetsFor(address, keyText, id);
  const pair = pairOf(models, snippetsOf('your-model'), { model, client: shown });
  const chosen = pair.model?.id ?? 'your-model';
  const snippets = snippetsOf(chosen);
  const snippet = snippets.find(({ id }) => id === pair.client?.id);
  const unable = snippets.filter(({ dialect }) => !canCall(pair.model, dialect));
  const reason = useId();
  return (
    <section class="panel" aria-labelledby="use-heading">
      <h2 id="use-heading">Use it</h2>
      {session.gatewayUrl === null && (
        <Notice tone="warn">
          <p>Nobody has told the dashboard the address of the gateway. Put yours in place of {address}.</p>
        </Notice>
      )}
      {models.length > 0 && (
        <SelectField
          label="Model"
          value={chosen}
          onInput={setModel}
          options={models.map(({ id, displayName }) => ({
            value: id,
            label: displayName === id ? id : `${displayName} (${id})`,
          }))}
        />
      )}
      {catalog.answer !== undefined && models.length === 0 && (
        <Notice tone="warn">
          <p>There is no model that this key may call yet. Write one in place of “your-model”.</p>
        </Notice>
      )}
      {!session.hasLedger && (
        <p class="hint">
          Without a ledger it is not known which models the key may call. Write one in place of “your-model”.
        </p>
      )}
      {catalog.error !== undefined && (
        <p class="hint">Which models the key may call is not known now: {catalog.error.message}</p>
      )}
      <fieldset class="tabs" aria-label="Client">
        {snippets.map(({ id, label, dialect }) => (
          <Button
            key={id}
            look="quiet"
            pressed={id === snippet?.id}
            disabled={!canCall(pair.model, dialect)}
            describedBy={canCall(pair.model, dialect) ? undefined : reason}
            onClick={() => setShown(id)}
          >
            {label}
          </Button>
        ))}
      </fieldset>
      {unable.length > 0 && (
        <p class="hint" id={reason}>
          {chosen} cannot be called by{' '}
          {unable.map(({ label, dialect }) => `${label} (${DIALECTS[dialect]})`).join(', ')}. Choose another
          model for that.
        </p>
      )}
      {snippet !== undefined && (
        <>
          <p class="hint">{snippet.note}</p>
          <Code text={snippet.text} label={`Snippet for ${snippet.label}`} />
        </>
      )}
      {!isPlaceholder && session.gatewayUrl !== null && models.length > 0 && canCall(pair.model, 'chat') && (
        <TestCall key={chosen} address={session.gatewayUrl} keyText={keyText} model={chosen} />
      )}
    </section>
  );
}
