// How do models answer a prompt? One of them, or two side by side, with the person's own key; nothing of it is kept or sent to the dashboard.

import { useEffect, useRef, useState } from 'preact/hooks';
import { tabKeys } from '../keys/tab-keys.ts';
import { Badge, Button, Notice } from '../parts/basics.tsx';
import { SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { useAsked, useSettled } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { Answering } from './answering.tsx';
import { type Chat, listModels } from './chat.ts';

interface Round {
  readonly at: number;
  readonly chats: readonly Chat[];
  readonly stop: AbortController;
}

/** Each wait is twice the last one, half a minute in all; every question is a refused request. */
const awaitedMax = 5;

export function Playground() {
  const { session, search } = useShell();
  const wanted = new URLSearchParams(search);
  const names = tabKeys.names();
  const [picked, setPicked] = useState(() => wanted.get('key') ?? names[0] ?? '');
  const [pasted, setPasted] = useState('');
  const [models, setModels] = useState<readonly [string, string]>([wanted.get('model') ?? '', '']);
  const [system, setSystem] = useState('');
  const [prompt, setPrompt] = useState('');
  const [round, setRound] = useState<Round | undefined>(undefined);
  const [runningCount, setRunning] = useState(0);
  const address = session.gatewayUrl;
  const [namespace = '', name = ''] = picked.split('/');
  const made = tabKeys.find(namespace, name);
  const key = useSettled(made ?? pasted.trim());
  const listed = useAsked(
    address === null || key === '' ? undefined : `models of ${address} by ${key}`,
    (signal) => listModels(address ?? '', key, signal),
  );
  // Gateways get to know a new key a moment after it was made.
  const isAwaited = made === key && listed.error?.status === 401 && tabKeys.isNew(namespace, name);
  const { again, isAsking } = listed;
  const waits = useRef(0);
  useEffect(() => {
    waits.current = 0;
  }, [key]);
  useEffect(() => {
    if (!isAwaited || isAsking || waits.current === awaitedMax) return;
    const timer = setTimeout(again, 1_000 * 2 ** waits.current++);
    return () => clearTimeout(timer);
  }, [isAwaited, isAsking, again]);
  if (address === null)
    return (
      <>
        <h1 tabIndex={-1}>Playground</h1>
        <Notice tone="warn">
          <p>The gateway address is not configured: set gateway.publicUrl in the chart.</p>
        </Notice>
      </>
    );

  const known = listed.answer ?? [];
  const chosen = [models[0] || known[0] || '', models[1]].filter((model) => model !== '');
  const isReady = key !== '' && prompt.trim() !== '' && chosen.length > 0;
  const send = () => {
    if (!isReady || runningCount > 0) return;
    const messages: Chat['messages'] = [
      ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user', content: prompt },
    ];
    setRunning(chosen.length);
    setRound({
      at: (round?.at ?? 0) + 1,
      chats: chosen.map((model) => ({ address, key, model, messages })),
      stop: new AbortController(),
    });
  };
  const modelField = (at: 0 | 1, label: string, none: string) => (
    <SelectField
      label={label}
      value={models[at] || (at === 0 ? (known[0] ?? '') : '')}
      onInput={(model) => setModels(models.with(at, model) as [string, string])}
      options={[
        ...(at === 0 && known.length > 0 ? [] : [{ value: '', label: none }]),
        ...known.map((id) => ({ value: id, label: id })),
      ]}
    />
  );
  return (
    <>
      <h1 tabIndex={-1}>Playground</h1>
      <form
        class="panel fields"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
        }}
      >
        <div class="triple">
          {names.length > 0 && (
            <SelectField
              label="Key"
              value={made === undefined ? '' : picked}
              onInput={setPicked}
              options={[
                ...names.map((value) => ({ value, label: value })),
                { value: '', label: 'Paste another key' },
              ]}
            />
          )}
          {made === undefined && (
            <TextField
              label="Your key"
              type="password"
              placeholder={`${session.keyPrefix}…`}
              value={pasted}
              onInput={setPasted}
              hint="Stays in this tab."
            />
          )}
          {modelField(0, 'Model', key === '' ? 'Enter a key first' : 'No models')}
          {modelField(1, 'Compare with', 'None')}
        </div>
        {isAwaited && (
          <p role="status">
            <Badge tone="busy">Waiting</Badge> The gateway does not accept this key yet.
          </p>
        )}
        {listed.error !== undefined && !isAwaited && (
          <Notice tone="bad" title="The models of this key could not be listed">
            <p>{listed.error.message}</p>
          </Notice>
        )}
        <details class="fold">
          <summary>System text</summary>
          <TextArea label="System text" rows={2} value={system} onInput={setSystem} />
        </details>
        <TextArea label="Prompt" rows={4} value={prompt} onInput={setPrompt} />
        <div class="row">
          <Button type="submit" look="main" disabled={!isReady || runningCount > 0}>
            {runningCount > 0 ? 'Asking…' : 'Send'}
          </Button>
          <Button disabled={runningCount === 0} onClick={() => round?.stop.abort()}>
            Stop
          </Button>
          <span class="hint">
            Straight from this browser to the gateway. No text is kept; tokens and cost are recorded.
          </span>
        </div>
      </form>
      {round !== undefined && (
        <div class={round.chats.length > 1 ? 'columns' : undefined}>
          {round.chats.map((chat, at) => (
            <section class="panel" key={`${round.at} ${at}`} aria-label={`Answer of ${chat.model}`}>
              <Answering
                chat={chat}
                signal={round.stop.signal}
                whenEnded={() => setRunning((count) => count - 1)}
              />
            </section>
          ))}
        </div>
      )}
    </>
  );
}
