// How is a key made? Its secret part here in the browser: the server is sent its hash and hint, and the key itself is shown once.

import { useRef, useState } from 'preact/hooks';
import { Notice } from '../parts/basics.tsx';
import { Choice, focusFirstProblem } from '../parts/fields.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import type { ApiError } from '../shell/api.ts';
import { kubePath, useRights } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { KeyFields } from './key-fields.tsx';
import { buildApiKey, checkKeyForm, emptyKeyForm, type KeyForm, type KeyProblems } from './key-form.ts';
import { KeyMade } from './key-made.tsx';
import { type KeyYaml, KeyYamlDialog } from './key-yaml.tsx';
import { type MintedKey, mintRandomKey } from './mint-key.ts';
import { SecretMade } from './secret-made.tsx';

type Way = 'browser' | 'secret';

/** Where pages come over plain http from another machine, browsers have no WebCrypto. */
export const canMint = globalThis.crypto?.subtle !== undefined;

export function NewKey() {
  const { api, session, namespace, announce } = useShell();
  const [form, setForm] = useState<KeyForm>({
    ...emptyKeyForm,
    namespace: namespace ?? session.namespace ?? '',
  });
  const [way, setWay] = useState<Way>(canMint ? 'browser' : 'secret');
  const [problems, setProblems] = useState<KeyProblems>({});
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [yaml, setYaml] = useState<KeyYaml | undefined>(undefined);
  const [made, setMade] = useState<{ readonly minted: MintedKey | undefined } | undefined>(undefined);
  const element = useRef<HTMLFormElement>(null);
  const may = useRights(form.namespace === '' ? undefined : form.namespace);
  const right = may('create apikeys');

  const check = () => {
    const found = checkKeyForm(form, Date.now());
    setProblems(found);
    if (Object.keys(found).length === 0) return true;
    announce('Some fields need another value.');
    focusFirstProblem(element.current);
    return false;
  };
  const mint = async () => (way === 'browser' ? await mintRandomKey(session.keyPrefix) : undefined);
  const view = async () => {
    if (!check()) return;
    setRefusal(undefined);
    try {
      const minted = await mint();
      setYaml({ minted, object: buildApiKey(form, minted) });
    } catch (error) {
      setRefusal((error as Error).message);
    }
  };
  const send = async () => {
    if (!check() || isSending) return;
    setSending(true);
    setRefusal(undefined);
    try {
      const minted = await mint();
      const body = buildApiKey(form, minted);
      const path = kubePath('apikeys', form.namespace);
      await api.call(path, { method: 'POST', query: { dryRun: 'All' }, body });
      await api.call(path, { method: 'POST', body });
      setMade({ minted });
    } catch (error) {
      setRefusal((error as ApiError).message);
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
        />
        <Choice<Way>
          label="Where the key is made"
          value={way}
          onInput={setWay}
          options={[
            ...(canMint
              ? [
                  {
                    value: 'browser' as const,
                    label: 'In this browser',
                    note: 'You see it once; the cluster knows its hash alone.',
                  },
                ]
              : []),
            {
              value: 'secret' as const,
              label: 'In the cluster',
              note: 'The operator writes it into a Secret, for pods and GitOps; whoever may read that Secret has it.',
            },
          ]}
        />
        {!canMint && (
          <Notice tone="warn">
            <p>
              This page came over plain http, where browsers make no keys. Open it over https to make one
              here.
            </p>
          </Notice>
        )}
        <FormEnd
          label="Create key"
          busyLabel="Creating…"
          isSending={isSending}
          isAllowed={right.isAllowed}
          missing={right.missing === undefined ? [] : [right.missing]}
          refusalTitle="The key was not created"
          refusal={refusal}
          onYaml={() => void view()}
        />
      </form>
      {yaml !== undefined && (
        <KeyYamlDialog
          yaml={yaml}
          note="Ready for kubectl apply -f and for Git. The operator makes the key and writes it into the Secret of this name with “-key” at its end."
          onClose={() => setYaml(undefined)}
        />
      )}
    </>
  );
}
