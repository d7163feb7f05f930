// Which fields does a provider have? The same when it is made and when it is edited.

import { CheckField, SelectField, TextArea, TextField } from '../parts/fields.tsx';
import { type FieldProblems, problemAt } from '../parts/refused-fields.ts';
import { APIS, type Api, PROVIDER_OPTIONS, PROVIDER_TYPES, SIGN_INS, type SignIn } from '../words/choices.ts';
import { CallersFields } from './callers-fields.tsx';
import { hostToAllow, type ProviderForm, placeholderOf, signInOf } from './provider-form.ts';

const apis = Object.keys(APIS) as Api[];

export interface ProviderFieldsProps {
  readonly form: ProviderForm;
  readonly problems: FieldProblems;
  readonly onInput: (changes: Partial<ProviderForm>) => void;
}

type TextName = {
  [Name in keyof ProviderForm]: ProviderForm[Name] extends string ? Name : never;
}[keyof ProviderForm];

/** The value of a field, its problem and its change. */
export const fieldOf =
  ({ form, problems, onInput }: ProviderFieldsProps) =>
  (name: TextName, path: string = name) => ({
    value: form[name],
    problem: problemAt(problems, path),
    onInput: (value: string) => onInput({ [name]: value }),
  });

export function AddressField(props: ProviderFieldsProps) {
  const { type } = props.form;
  return (
    <TextField
      label="Address"
      type="url"
      required={PROVIDER_TYPES[type].needsUrl}
      placeholder={placeholderOf(type) || 'Default of the vendor'}
      {...fieldOf(props)('baseUrl', 'baseURL')}
      hint="With the version: …/v1"
    />
  );
}

export function DialectsField({ form, problems, onInput }: ProviderFieldsProps) {
  if (!PROVIDER_TYPES[form.type].needsApis) return null;
  const problem = problemAt(problems, 'apis');
  return (
    <fieldset class="checks" aria-invalid={problem === undefined ? undefined : 'true'} tabIndex={-1}>
      <legend>Dialects</legend>
      <div class="row wide-gap">
        {apis.map((one) => (
          <CheckField
            key={one}
            label={APIS[one]}
            checked={form.apis.includes(one)}
            onInput={(checked) =>
              onInput({ apis: apis.filter((other) => (other === one ? checked : form.apis.includes(other))) })
            }
          />
        ))}
      </div>
      {problem !== undefined && <p class="problem">{problem}</p>}
    </fieldset>
  );
}

/** A key, or the identity of a cloud where the type takes one. */
export function AuthFields(props: ProviderFieldsProps & { readonly isRequired: boolean }) {
  const { form, onInput } = props;
  const signIn = signInOf(form);
  return (
    <>
      {SIGN_INS[form.type] !== undefined && (
        <SelectField
          label="Authentication"
          value={signIn === undefined ? 'key' : 'identity'}
          onInput={(value) => onInput({ hasIdentity: value === 'identity', identity: {} })}
          options={[
            { value: 'key', label: 'Key' },
            { value: 'identity', label: 'Cloud identity' },
          ]}
        />
      )}
      {signIn === undefined ? <KeyField {...props} /> : <IdentityFields {...props} signIn={signIn} />}
    </>
  );
}

function IdentityFields(props: ProviderFieldsProps & { readonly signIn: SignIn }) {
  const { form, problems, onInput, signIn } = props;
  const at = `auth.${signIn.member}`;
  return (
    <>
      <div class="pair">
        {signIn.fields.map((name) => {
          const field = {
            label: name,
            value: form.identity[name] ?? '',
            problem: problemAt(problems, `${at}.${name}`) ?? problems[at],
            onInput: (value: string) => onInput({ identity: { ...form.identity, [name]: value } }),
          };
          const values = signIn.choices[name];
          return values === undefined ? (
            <TextField key={name} placeholder="None" {...field} />
          ) : (
            <SelectField key={name} options={optionsOf(values)} {...field} />
          );
        })}
      </div>
      <TextArea
        label="Credentials"
        rows={3}
        {...fieldOf(props)('key')}
        problem={problems.auth ?? problemAt(problems, 'auth.keys')}
        hint={`${signIn.credentials}. Stored in a new Secret. Empty: the workload identity of the gateway${form.secret === '' ? '' : ', or the Secret below'}.`}
      />
    </>
  );
}

const optionsOf = (values: readonly string[]) => [
  { value: '', label: 'None' },
  ...values.map((value) => ({ value, label: value })),
];

function KeyField(props: ProviderFieldsProps & { readonly isRequired: boolean }) {
  const { form, isRequired } = props;
  const host = hostToAllow(form.baseUrl);
  return (
    <TextField
      label="Key"
      type="password"
      required={isRequired}
      placeholder={form.secret !== '' ? 'That of the Secret' : isRequired ? '' : 'None'}
      {...fieldOf(props)('key', 'auth')}
      hint={
        <>
          Stored in a new Secret{host === undefined ? '' : ' for '}
          {host !== undefined && <code>{host}</code>}. It cannot be read back here.
        </>
      }
    />
  );
}

/** Rarely needed fields. */
export function MoreFields(props: ProviderFieldsProps) {
  const { form, problems, onInput } = props;
  const field = fieldOf(props);
  const isOpen = ['options', 'secret', 'tls', 'healthCheck', 'allowedNamespaces'].some(
    (path) => problemAt(problems, path) !== undefined,
  );
  return (
    <details class="fold" open={isOpen || undefined}>
      <summary>More settings</summary>
      <div class="fields">
        <div class="pair">
          <TextField
            label="Secret"
            placeholder={form.key === '' ? 'None' : form.name || 'Named like the provider'}
            {...field('secret')}
            hint="Or use an existing Secret (label penstock.dev/provider-credential)."
          />
          <TextField label="Secret entry" placeholder="key" {...field('secretKey')} />
        </div>
        {(PROVIDER_OPTIONS[form.type] ?? []).map((name) => (
          <TextField
            key={name}
            label={name}
            placeholder="None"
            value={form.options[name] ?? ''}
            problem={problemAt(problems, `options.${name}`) ?? problems.options}
            onInput={(value) => onInput({ options: { ...form.options, [name]: value } })}
          />
        ))}
        <div class="triple">
          <SelectField
            label="CA from"
            {...field('caKind', 'tls.caRef.kind')}
            onInput={(kind) => onInput({ caKind: kind as ProviderForm['caKind'] })}
            options={['ConfigMap', 'Secret'].map((value) => ({ value, label: value }))}
          />
          <TextField
            label="CA name"
            placeholder="Public authorities"
            {...field('caName')}
            problem={problemAt(problems, 'tls.caRef.name') ?? problems['tls.caRef'] ?? problems.tls}
          />
          <TextField label="CA entry" placeholder="ca.crt" {...field('caKey', 'tls.caRef.key')} />
        </div>
        <div class="pair">
          <SelectField
            label="Health check"
            {...field('check', 'healthCheck.active.type')}
            onInput={(check) => onInput({ check: check as ProviderForm['check'] })}
            options={[
              { value: '', label: 'Default' },
              { value: 'ListModels', label: 'List models' },
              { value: 'HTTPGet', label: 'GET a path' },
              { value: 'Completion', label: 'Call a model (costs money)' },
              { value: 'Disabled', label: 'Off' },
            ]}
          />
          {form.check === 'HTTPGet' && (
            <TextField
              label="Path"
              placeholder="/health"
              {...field('checkPath', 'healthCheck.active.path')}
            />
          )}
          {form.check === 'Completion' && (
            <TextField label="Checked model" {...field('checkModel', 'healthCheck.active.model')} />
          )}
        </div>
        <CallersFields label="Routes from" {...form} problems={problems} onInput={onInput} />
      </div>
    </details>
  );
}
