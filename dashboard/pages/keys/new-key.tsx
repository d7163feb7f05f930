// How is a key created? In the browser: the server gets its hash and hint, and the key itself is shown once.

import { useRef, useState } from 'preact/hooks';
import { Notice } from '../parts/basics.tsx';
import { Choice, focusFirstProblem } from '../parts/fields.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import { findObject } from '../shell/api.ts';
import { kubePath, useRightsWhereTyped } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { useKept } from '../shell/leaving.tsx';
import { isWithin, type NotDone, sendSurely } from '../shell/send-surely.ts';
import { serverClock } from '../shell/server-clock.ts';
import type { ApiKey } from '../words/kube.ts';
import { KeyFields, writtenIn } from './key-fields.tsx';
import { buildApiKey, checkKeyForm, emptyKeyForm, type KeyForm, type KeyProblems } from './key-form.ts';
import { KeyMade } from './key-made.tsx';
import { type KeyYaml, KeyYamlDialog } from './key-yaml.tsx';
import { type MintedKey, mintRandomKey } from './mint-key.ts';
import { holds } from './rotate.ts';
import { SecretMade } from './secret-made.tsx';

type Way = 'browser' | 'secret';

/** Sent, and not known to exist. */
interface Attempt {
  readonly id: string;
  readonly minted: MintedKey | undefined;
  /** The result is unknown: the key may exist, or be created later. */
  readonly isOpen: boolean;
}

/** Browsers have WebCrypto on https pages and on localhost only. */
export const canMint = globalThis.crypto?.subtle !== undefined;

export function NewKey() {
  const { api, session, namespace, announce } = useShell();
  const [form, setForm] = useState<KeyForm>({
    ...emptyKeyForm,
    namespace: namespace ?? session.namespace ?? '',
  });
  const [way, setWay] = useState<Way>(canMint ? 'browser' : 'secret');
  const [problems, setProblems] = useState<KeyProblems>({});
  const [failed, setFailed] = useState<NotDone | undefined>(undefined);
  const [attempt, setAttempt] = useState<Attempt | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [yaml, setYaml] = useState<KeyYaml | undefined>(undefined);
  const [made, setMade] = useState<{ readonly minted: MintedKey | undefined } | undefined>(undefined);
  const element = useRef<HTMLFormElement>(null);
  const may = useRightsWhereTyped(form.namespace);
  const right = may('create apikeys');
  useKept(attempt?.isOpen === true && attempt.minted !== undefined && made === undefined);

  const check = () => {
    const found = checkKeyForm(writtenIn(element.current, form), serverClock.now());
    setProblems(found);
    if (Object.keys(found).length === 0) return true;
    announce('Some fields are invalid.');
    focusFirstProblem(element.current);
    return false;
  };
  const mint = async () => (way === 'browser' ? await mintRandomKey(session.keyPrefix) : undefined);
  const view = async () => {
    if (!check()) return;
    setFailed(undefined);
    try {
      const minted = await mint();
      setYaml({ minted, object: buildApiKey(form, minted) });
    } catch (error) {
      setFailed({ is: 'refused', message: (error as Error).message });
    }
  };
  const send = async () => {
    if (!check() || isSending) return;
    setSending(true);
    setFailed(undefined);
    try {
      // Sent again it is the same key: what was sent before may yet arrive, and this one is known here alone.
      const id = `${way} ${form.namespace}/${form.name}`;
      const before = attempt?.id === id ? attempt : undefined;
      const minted = before === undefined ? await mint() : before.minted;
      const body = buildApiKey(form, minted);
      const collection = kubePath('apikeys', form.namespace);
      const sent = await sendSurely({
        check: () => api.call(collection, { method: 'POST', query: { dryRun: 'All' }, body }),
        send: () => api.call(collection, { method: 'POST', body }),
        wasDone: async () => {
          const there = await findObject<ApiKey>(api, kubePath('apikeys', form.namespace, form.name));
          if (there === undefined) return false;
          return minted === undefined ? isWithin(body.spec, there.spec) : holds(there, minted);
        },
        isAgain: before?.isOpen === true,
      });
      if (sent.is === 'done') setMade({ minted });
      else {
        setAttempt({ id, minted, isOpen: before?.isOpen === true || sent.is === 'unknown' });
        setFailed(sent);
      }
    } catch (error) {
      setFailed({ is: 'refused', message: (error as Error).message });
    }
    setSending(false);
  };

  if (made !== undefined)
    return (
      <>
        <h1 tabIndex={-1}>Create key</h1>
        {made.minted === undefined ? (
          <SecretMade namespace={form.namespace} name={form.name} />
        ) : (
          <KeyMade minted={made.minted} namespace={form.namespace} name={form.name} />
        )}
      </>
    );

  return (
    <>
      <p class="crumbs">
        <Link to="/keys">Keys</Link>
      </p>
      <h1 tabIndex={-1}>Create key</h1>
      <form
        ref={element}
        class="panel form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (right.isAllowed) void send();
        }}
      >
        <KeyFields
          form={form}
          problems={problems}
          isNew
          onInput={(changes) => setForm((before) => ({ ...before, ...changes }))}
        >
          <Choice<Way>
            label="Key storage"
            value={way}
            onInput={setWay}
            options={[
              ...(canMint
                ? [
                    {
                      value: 'browser' as const,
                      label: 'In this browser',
                      note: 'You see it once. Only its hash is stored.',
                    },
                  ]
                : []),
              {
                value: 'secret' as const,
                ...(session.mode === 'local'
                  ? {
                      label: 'On this machine',
                      note: 'Kept in a file that only you can read.',
                    }
                  : {
                      label: 'In the cluster',
                      note: 'The operator writes it to a Secret, for pods and GitOps.',
                    }),
              },
            ]}
          />
        </KeyFields>
        {!canMint && (
          <Notice tone="warn">
            <p>Browsers create keys on https pages only. Open this page over https to create one here.</p>
          </Notice>
        )}
        <FormEnd
          label="Create key"
          busyLabel="Creating…"
          isSending={isSending}
          isAllowed={right.isAllowed}
          missing={right.missing === undefined ? [] : [right.missing]}
          refusalTitle={
            failed?.is === 'unknown' ? 'The key may have been created' : 'The key was not created'
          }
          refusal={
            failed?.is === 'unknown'
              ? `${failed.message} Create it again: the same key is sent, never a second one.`
              : failed?.message
          }
          onYaml={() => void view()}
        />
      </form>
      {yaml !== undefined && (
        <KeyYamlDialog
          yaml={yaml}
          note={
            session.mode === 'local'
              ? 'Penstock creates the key and keeps it in a file.'
              : 'The operator creates the key and writes it to the Secret <name>-key.'
          }
          onClose={() => setYaml(undefined)}
        />
      )}
    </>
  );
}
