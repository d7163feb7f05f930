// What of a provider can be edited? Its address, key, authority, health check, options and which routes may name it.

import { useRef } from 'preact/hooks';
import { EditDialog } from '../parts/edit-dialog.tsx';
import { ApiError } from '../shell/api.ts';
import { useShell } from '../shell/context.tsx';
import { PROVIDER_TYPES } from '../words/choices.ts';
import type { Provider } from '../words/kube.ts';
import { createAll, nothingCreated } from './create-all.ts';
import { effectsOfProviderEdit } from './edit-effects.ts';
import { AddressField, AuthFields, DialectsField, MoreFields } from './provider-fields.tsx';
import {
  buildSecret,
  checkProviderEdit,
  KEY_PLACEHOLDER,
  nextSecretName,
  type ProviderForm,
  providerFormOf,
  providerPatch,
} from './provider-form.ts';
import { questionOf, TestConnection } from './test-connection.tsx';

interface EditProviderProps {
  readonly provider: Provider;
  readonly onClose: () => void;
  readonly whenDone: () => void;
}

export function EditProviderDialog({ provider, onClose, whenDone }: EditProviderProps) {
  const { formats } = useShell();
  // A Secret that was made before the change was refused is not made again.
  const created = useRef(nothingCreated);
  return (
    <EditDialog
      plural="providers"
      object={provider}
      formOf={providerFormOf}
      check={checkProviderEdit}
      patchOf={providerPatch}
      effectsOf={(was, edited) => effectsOfProviderEdit(was, edited, formats)}
      prepare={async (api, form) => {
        const secret = buildSecret(form);
        if (secret === undefined) return;
        const path = `kube/api/v1/namespaces/${form.namespace}/secrets`;
        const what = `Secret ${secret.metadata.name}`;
        const sent = await createAll(api, [{ path, body: secret, what }], created.current);
        created.current = sent.created;
        if (sent.is !== 'done')
          throw new ApiError(sent.is === 'unknown' ? 0 : 400, 'refused', `${what}: ${sent.message}`);
      }}
      alsoOf={(form) => (form.key === '' ? [] : [buildSecret({ ...form, key: KEY_PLACEHOLDER }) ?? {}])}
      onClose={onClose}
      whenDone={whenDone}
    >
      {(form, problems, onInput, before) => {
        const props = { form, problems, onInput };
        const { name = '' } = before.spec.auth?.keys?.[0]?.secretRef ?? {};
        const further = (before.spec.auth?.keys ?? []).slice(1).map((key) => key.name);
        const withNewSecret = (changes: Partial<ProviderForm>): void =>
          onInput(
            changes.key !== undefined && changes.key !== '' && form.secret === name && name !== ''
              ? { ...changes, secret: nextSecretName(name) }
              : changes,
          );
        return (
          <section class="fields" aria-label="Provider">
            <AddressField {...props} />
            <DialectsField {...props} />
            <AuthFields {...props} onInput={withNewSecret} isRequired={PROVIDER_TYPES[form.type].needsKey} />
            {further.length > 0 && <p class="hint">Further keys stay as they are: {further.join(', ')}.</p>}
            <TestConnection
              isAllowed
              ask={() => (checkProviderEdit(form, before).baseURL ? undefined : questionOf(form, true))}
            />
            <MoreFields {...props} />
          </section>
        );
      }}
    </EditDialog>
  );
}
