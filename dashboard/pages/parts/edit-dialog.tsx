// How is an object edited? Fields, its YAML beside them, and a merge patch that is refused if the object has changed since.

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Api } from '../shell/api.ts';
import { kubePath } from '../shell/asking.tsx';
import { patchSeen } from '../shell/patch-seen.ts';
import { KINDS, type KubeObject, type Plural } from '../words/kube.ts';
import { asManifest } from '../words/manifest.ts';
import { mergePatch } from '../words/merge-patch.ts';
import { Button } from './basics.tsx';
import { NotDone, useChange } from './change.tsx';
import { EffectsDialog } from './confirm-dialog.tsx';
import { Dialog, YamlDialog } from './dialog.tsx';
import { focusFirstProblem } from './fields.tsx';
import { type FieldProblems, refusedFields } from './refused-fields.ts';

interface EditDialogProps<Kind extends KubeObject, Form> {
  readonly plural: Plural;
  readonly object: Kind;
  readonly formOf: (object: Kind) => Form;
  readonly check: (form: Form, before: Kind) => FieldProblems;
  readonly patchOf: (before: Kind, form: Form) => { readonly spec: object };
  /** What callers notice of the change, in sentences. Empty: nothing. */
  readonly effectsOf: (before: Kind, after: Kind) => readonly string[];
  /** Before the object is changed: what it is to name. @throws ApiError */
  readonly prepare?: (api: Api, form: Form, before: Kind) => Promise<void>;
  /** What else YAML shows of it. */
  readonly alsoOf?: (form: Form, before: Kind) => readonly object[];
  readonly children: (
    form: Form,
    problems: FieldProblems,
    onInput: (changes: Partial<Form>) => void,
    before: Kind,
  ) => ComponentChildren;
  readonly onClose: () => void;
  readonly whenDone: () => void;
}

export function EditDialog<Kind extends KubeObject, Form>(props: EditDialogProps<Kind, Form>) {
  const { plural, check, patchOf, effectsOf, prepare, alsoOf, onClose } = props;
  // The object when editing began: the patch is refused if its spec has changed since.
  const [before] = useState(props.object);
  const [form, setForm] = useState<Form>(() => props.formOf(props.object));
  const [problems, setProblems] = useState<FieldProblems>({});
  const [isYaml, setYaml] = useState(false);
  const [effects, setEffects] = useState<readonly string[]>([]);
  const edited = () => mergePatch(before, patchOf(before, form)) as Kind;
  const change = useChange(props.whenDone);
  const element = useRef<HTMLFormElement>(null);
  const { namespace, name } = before.metadata;
  const show = (found: FieldProblems): boolean => {
    setProblems(found);
    if (Object.keys(found).length === 0) return true;
    focusFirstProblem(element.current);
    return false;
  };
  const send = async (api: Api) => {
    try {
      await prepare?.(api, form, before);
      await patchSeen(api, kubePath(plural, namespace, name), before, patchOf(before, form));
    } catch (error) {
      show(refusedFields(error));
      throw error;
    }
  };
  const save = () => void change.runOf(send, 'Saved.');
  return (
    <Dialog title={`Edit ${name}`} onClose={onClose} isWide>
      <form
        ref={element}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!show(check(form, before))) return;
          const found = effectsOf(before, edited());
          if (found.length === 0) save();
          else setEffects(found);
        }}
      >
        {props.children(form, problems, (changes) => setForm((now) => ({ ...now, ...changes })), before)}
        <NotDone problem={change.problem} />
        <div class="row end">
          <Button look="quiet" onClick={() => show(check(form, before)) && setYaml(true)}>
            View as YAML
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={change.isSending}>
            {change.isSending ? 'Saving…' : 'Save'}
          </Button>
        </div>
      </form>
      {isYaml && (
        <YamlDialog
          objects={[...(alsoOf?.(form, before) ?? []), asManifest(KINDS[plural], edited())]}
          onClose={() => setYaml(false)}
        />
      )}
      {effects.length > 0 && (
        <EffectsDialog name={name} effects={effects} onClose={() => setEffects([])} onConfirm={save} />
      )}
    </Dialog>
  );
}
