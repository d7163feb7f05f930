// What of a key can be edited? Whose it is, its end, its models, budget and limits.

import { useRef, useState } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { NotDone, useChange } from '../parts/change.tsx';
import { EffectsDialog } from '../parts/confirm-dialog.tsx';
import { Dialog, YamlDialog } from '../parts/dialog.tsx';
import { focusFirstProblem } from '../parts/fields.tsx';
import { kubePath } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { patchSeen } from '../shell/patch-seen.ts';
import { serverClock } from '../shell/server-clock.ts';
import type { ApiKey } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import { mergePatch } from '../words/merge-patch.ts';
import { effectsOfKeyEdit } from './edit-effects.ts';
import { KeyFields, writtenIn } from './key-fields.tsx';
import { checkKeyForm, editPatch, type KeyForm, type KeyProblems, keyFormOf } from './key-form.ts';

export function EditKeyDialog({
  apiKey,
  onClose,
  whenDone,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
  readonly whenDone: () => void;
}) {
  const { formats } = useShell();
  // The object when editing began: a concurrent change makes the write fail instead of being overwritten.
  const [before] = useState(apiKey);
  const [form, setForm] = useState<KeyForm>(() => keyFormOf(apiKey));
  const [problems, setProblems] = useState<KeyProblems>({});
  const change = useChange(whenDone);
  const element = useRef<HTMLFormElement>(null);
  const { namespace, name } = before.metadata;
  const [isYaml, setYaml] = useState(false);
  const [effects, setEffects] = useState<readonly string[]>([]);
  const edited = () => mergePatch(before, editPatch(before, form)) as ApiKey;
  const check = (): boolean => {
    const written = writtenIn(element.current, form);
    // An end that has passed may stay as it is.
    const isSameEnd = written.expires === keyFormOf(before).expires;
    const found = checkKeyForm(isSameEnd ? { ...written, expires: '' } : written, serverClock.now());
    setProblems(found);
    if (Object.keys(found).length === 0) return true;
    focusFirstProblem(element.current);
    return false;
  };
  const send = () =>
    void change.runOf(
      (api) => patchSeen(api, kubePath('apikeys', namespace, name), before, editPatch(before, form)),
      'Saved.',
    );
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose} isWide>
      <form
        ref={element}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!check()) return;
          const found = effectsOfKeyEdit(before, edited(), formats, serverClock.now());
          if (found.length === 0) send();
          else setEffects(found);
        }}
      >
        <KeyFields
          form={form}
          problems={problems}
          isNew={false}
          expiresAt={before.spec.expiresAt}
          onInput={(changes) => setForm((now) => ({ ...now, ...changes }))}
        />
        <NotDone problem={change.problem} />
        <div class="row end">
          <Button look="quiet" onClick={() => check() && setYaml(true)}>
            View as YAML
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={change.isSending}>
            {change.isSending ? 'Saving…' : 'Save'}
          </Button>
        </div>
      </form>
      {isYaml && <YamlDialog objects={[asManifest('ApiKey', edited())]} onClose={() => setYaml(false)} />}
      {effects.length > 0 && (
        <EffectsDialog name={name} effects={effects} onClose={() => setEffects([])} onConfirm={send} />
      )}
    </Dialog>
  );
}
