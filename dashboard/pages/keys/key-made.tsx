// What comes after a key is created? Copy it, wait until the gateways accept it, paste a snippet, test it.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { type Catalog, modelsOf } from '../models/catalog.ts';
import { Badge, Button, Code, CopyButton, Notice } from '../parts/basics.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { useAsked, useObject } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { useKept } from '../shell/leaving.tsx';
import { pathOf } from '../shell/place.ts';
import { serverClock } from '../shell/server-clock.ts';
import { DIALECTS } from '../words/choices.ts';
import type { ApiKey } from '../words/kube.ts';
import { isProgrammed, statusOf } from '../words/object-status.ts';
import { answeringFirst, canCall, type Lately, pairOf, pricedFirst } from './callable.ts';
import type { MintedKey } from './mint-key.ts';
import { endOfOthers, holds } from './rotate.ts';
import { snippetsFor } from './snippets.ts';
import { tabKeys } from './tab-keys.ts';
import { TestCall } from './test-call.tsx';

interface KeyMadeProps {
  readonly minted: MintedKey;
  readonly namespace: string;
  readonly name: string;
  /** The key replaces another one. */
  readonly isRotated?: boolean;
  readonly whenDone?: () => void;
}

export function KeyMade({ minted, namespace, name, isRotated = false, whenDone }: KeyMadeProps) {
  const { announce, formats, leave, session } = useShell();
  const [isKept, setKept] = useState(false);
  const { object, error } = useObject<ApiKey>('apikeys', namespace, name);
  const held = object !== undefined && holds(object, minted) ? object : undefined;
  const isReady = held !== undefined && isProgrammed(held);
  const before = held && endOfOthers(held, minted, serverClock.now());
  const status = object && statusOf(object);
  useKept(!isKept);
  useEffect(() => tabKeys.keep(namespace, name, minted.key), [namespace, name, minted]);
  // What had the focus is gone with the form.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  useEffect(() => {
    if (isReady) announce('The key works now.');
  }, [isReady, announce]);

  return (
    <>
      <section class="panel key-shown" aria-labelledby="key-shown-heading">
        <h2 id="key-shown-heading" ref={heading} tabIndex={-1}>
          Key “{name}” (shown only now)
        </h2>
        <p>Copy it now. It was created in this browser, and no server, Secret, log or backup holds it.</p>
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
          <p>The previous key works until {formats.time(before)}. Move its clients to the new key by then.</p>
        )}
        {isRotated && held !== undefined && before === undefined && <p>The previous key is refused now.</p>}
        <p role="status">
          {isReady ? (
            <>
              <Badge tone="good">Live</Badge>{' '}
              {session.mode === 'local'
                ? 'The gateway accepts the key.'
                : 'Every gateway pod accepts the key.'}
            </>
          ) : status?.tone === 'bad' ? (
            <>
              <Badge tone="bad">{status.word}</Badge> {status.message}
            </>
          ) : (
            <>
              <Badge tone="busy">Waiting</Badge> The gateway does not accept the key yet. Wait about a second.
            </>
          )}
        </p>
        {error !== undefined && <Notice tone="warn">{error.message}</Notice>}
      </section>
      {isReady && <UseKey keyText={minted.key} namespace={namespace} name={name} />}
      <p class="row">
        {whenDone === undefined ? (
          <Link to={pathOf('keys', namespace, name)}>Done: go to {name}</Link>
        ) : (
          <Button onClick={() => leave(whenDone)}>Done</Button>
        )}
      </p>
    </>
  );
}

const placeholder = 'YOUR_KEY';
const dayMs = 86_400_000;

/** @param keyText undefined: unknown here, unless it was created in this tab or the user pastes it. */
export function UseKey({
  keyText,
  namespace,
  name,
}: {
  readonly keyText?: string;
  readonly namespace: string;
  readonly name: string;
}) {
  const { api, session } = useShell();
  const [model, setModel] = useState('');
  const [shown, setShown] = useState('curl');
  const [pasted, setPasted] = useState('');
  const [from] = useState(() => new Date(serverClock.now() - dayMs).toISOString());
  const own = pasted.trim() || tabKeys.find(namespace, name);
  const whose = session.hasLedger ? `${namespace}/${name}` : undefined;
  const catalog = useAsked(whose && `catalog ${whose}`, (signal) =>
    api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace, apiKey: name }, signal }),
  );
  const lately = useAsked(whose && `lately ${namespace}`, (signal) =>
    api.call<{ readonly rows: readonly Lately[] }>('ledger/v1/models', {
      query: { namespace, from },
      signal,
    }),
  );
  // After both answers: else the chosen model would change a moment after it was shown.
  const isAnswered = lately.answer !== undefined || lately.error !== undefined;
  const models = catalog.answer && isAnswered ? modelsOf(catalog.answer) : [];
  const address = session.gatewayUrl ?? 'https://gateway.example.com';
  const snippetsOf = (id: string) => snippetsFor(address, keyText ?? (pasted.trim() || placeholder), id);
  const pair = pairOf(
    pricedFirst(answeringFirst(models, lately.answer?.rows ?? [])),
    snippetsOf('your-model'),
    {
      model,
      client: shown,
    },
  );
  const chosen = pair.model?.id ?? 'your-model';
  const modelParameter = pair.model === undefined ? '' : `&model=${encodeURIComponent(pair.model.id)}`;
  const snippets = snippetsOf(chosen);
  const snippet = snippets.find(({ id }) => id === pair.client?.id);
  const unable = snippets.filter(({ dialect }) => !canCall(pair.model, dialect));
  const reason = useId();
  const testKey = keyText ?? own;
  return (
    <section class="panel" aria-labelledby="use-heading">
      <h2 id="use-heading">Use the key</h2>
      {session.gatewayUrl === null && (
        <Notice tone="warn">
          <p>The gateway address is not configured. Replace {address} with yours.</p>
        </Notice>
      )}
      <div class="pair">
        {keyText === undefined && (
          <TextField
            label="Your key"
            type="password"
            placeholder={`${session.keyPrefix}…`}
            value={pasted}
            onInput={setPasted}
            hint="Paste it to test it and to fill in the snippets. It stays in this tab."
          />
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
      </div>
      {catalog.answer?.models.length === 0 && (
        <Notice tone="warn">
          <p>This key can call no model yet. Replace “your-model”.</p>
        </Notice>
      )}
      {!session.hasLedger && (
        <p class="hint">The models of this key are not known without a ledger. Replace “your-model”.</p>
      )}
      {catalog.error !== undefined && (
        <p class="hint">The models of this key could not be loaded: {catalog.error.message}</p>
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
          {chosen} does not support{' '}
          {unable.map(({ label, dialect }) => `${label} (${DIALECTS[dialect]})`).join(', ')}. Choose another
          model for those.
        </p>
      )}
      {snippet !== undefined && (
        <>
          <p class="hint">{snippet.note}</p>
          <Code text={snippet.text} label={`Snippet for ${snippet.label}`} />
        </>
      )}
      {testKey !== undefined &&
        session.gatewayUrl !== null &&
        models.length > 0 &&
        canCall(pair.model, 'chat') && (
          <TestCall key={chosen} address={session.gatewayUrl} keyText={testKey} model={chosen} />
        )}
      <p>
        <Link to={`/playground?key=${namespace}/${name}${modelParameter}`}>Open in the playground</Link>
      </p>
    </section>
  );
}
