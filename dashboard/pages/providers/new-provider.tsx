// How does a tenant add a provider? Three objects out of one form, each dry-run by the API server before the first is created.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { RightName } from '../../api-types.ts';
import { Badge } from '../parts/basics.tsx';
import { YamlDialog } from '../parts/dialog.tsx';
import { focusFirstProblem, SelectField, TextField } from '../parts/fields.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import type { FieldProblems } from '../parts/refused-fields.ts';
import { kubePath, useObject, useRightsWhereTyped } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { PROVIDER_TYPES, type ProviderType } from '../words/choices.ts';
import type { ModelRoute, Provider } from '../words/kube.ts';
import { statusOf } from '../words/object-status.ts';
import { createAll, nothingCreated, type Step } from './create-all.ts';
import { AddressField, AuthFields, DialectsField, fieldOf, MoreFields } from './provider-fields.tsx';
import {
  buildProviderObjects,
  checkProviderForm,
  emptyProviderForm,
  KEY_PLACEHOLDER,
  type ProviderForm,
  routeNameOf,
} from './provider-form.ts';
import { questionOf, TestConnection } from './test-connection.tsx';

export function NewProvider() {
  const { api, session, namespace, namespaces, announce } = useShell();
  const [form, setForm] = useState<ProviderForm>({
    ...emptyProviderForm,
    namespace: namespace ?? session.namespace ?? '',
  });
  const [problems, setProblems] = useState<FieldProblems>({});
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [isYaml, setYaml] = useState(false);
  const [isMade, setMade] = useState(false);
  // The Provider's own list, after a connection test.
  const [models, setModels] = useState<readonly string[]>([]);
  // Objects that were created before a failure are not created again.
  const created = useRef(nothingCreated);
  const element = useRef<HTMLFormElement>(null);
  const may = useRightsWhereTyped(form.namespace);
  const needed: readonly RightName[] = [
    'create providers',
    'create modelroutes',
    ...(form.key === '' ? [] : (['create secrets'] as const)),
  ];
  const missing = needed.flatMap((right) => may(right).missing ?? []);
  const isAllowed = needed.every((right) => may(right).isAllowed);
  const onInput = (changes: Partial<ProviderForm>) => setForm((before) => ({ ...before, ...changes }));
  const props = { form, problems, onInput };
  const field = fieldOf(props);

  const show = (found: FieldProblems): boolean => {
    setProblems(found);
    if (Object.keys(found).length === 0) return true;
    announce('Some fields are invalid.');
    focusFirstProblem(element.current);
    return false;
  };
  const check = () => show(checkProviderForm(form));
  const showOf = (fields: readonly string[]) =>
    show(
      Object.fromEntries(Object.entries(checkProviderForm(form)).filter(([name]) => fields.includes(name))),
    );

  const send = async () => {
    if (!check() || isSending) return;
    setSending(true);
    setRefusal(undefined);
    const sent = await createAll(api, stepsOf(form), created.current);
    if (sent.is === 'done') {
      setForm((before) => ({ ...before, key: '' }));
      setMade(true);
    } else {
      created.current = sent.created;
      show(sent.problems ?? {});
      const made = [...sent.created.done.values()];
      setRefusal(
        [
          `${sent.what}: ${sent.message}`,
          ...(sent.is === 'unknown' ? [`${sent.what} may have been created.`] : []),
          made.length > 0
            ? `Created so far: ${made.join(', ')}. Add it again to continue.`
            : sent.is === 'unknown'
              ? 'Add it again: the dashboard checks first.'
              : '',
        ]
          .filter((words) => words !== '')
          .join(' '),
      );
    }
    setSending(false);
  };

  if (isMade) return <ProviderMade form={form} />;
  const type = PROVIDER_TYPES[form.type];
  return (
    <>
      <p class="crumbs">
        <Link to="/providers">Providers and routes</Link>
      </p>
      <div>
        <h1 tabIndex={-1}>Add provider</h1>
        <p class="faint">Your own model server, or your account at a vendor.</p>
      </div>
      <form
        ref={element}
        class="panel form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isAllowed) void send();
        }}
      >
        <section class="fields" aria-labelledby="upstream-heading">
          <h2 id="upstream-heading">Provider</h2>
          <div class="pair">
            <TextField label="Namespace" required {...field('namespace')} list={namespaces.namespaces} />
            <TextField label="Name" required placeholder="own-models" {...field('name')} />
          </div>
          <div class="pair">
            <SelectField
              label="Type"
              {...field('type')}
              onInput={(next) =>
                onInput({ type: next as ProviderType, options: {}, hasIdentity: false, identity: {} })
              }
              options={Object.entries(PROVIDER_TYPES).map(([value, { label }]) => ({ value, label }))}
            />
            <AddressField {...props} />
          </div>
          <DialectsField {...props} />
          <AuthFields {...props} isRequired={type.needsKey && form.secret === ''} />
          <TestConnection
            isAllowed={may('create providers').isAllowed}
            ask={() => (showOf(['namespace', 'baseURL']) ? questionOf(form, false) : undefined)}
            onModels={setModels}
          />
          <MoreFields {...props} />
        </section>
        <section class="fields" aria-labelledby="model-heading">
          <h2 id="model-heading">Model</h2>
          <div class="pair">
            <TextField
              label="Model id"
              required
              placeholder="llama"
              {...field('model')}
              hint="The id callers use."
            />
            <TextField
              label="Upstream model"
              required
              placeholder="llama-4"
              {...field('upstreamModel', 'targets[0].upstreamModel')}
              {...(models.length > 0 && { list: models })}
            />
          </div>
        </section>
        <FormEnd
          label="Add provider"
          busyLabel="Adding…"
          isSending={isSending}
          isAllowed={isAllowed}
          missing={missing}
          refusalTitle="Not added"
          refusal={refusal}
          onYaml={() => check() && setYaml(true)}
        />
      </form>
      {isYaml && (
        <YamlDialog
          objects={stepsOf(form.key === '' ? form : { ...form, key: KEY_PLACEHOLDER }).map(
            ({ body }) => body,
          )}
          note={
            form.key === ''
              ? undefined
              : `Replace ${KEY_PLACEHOLDER} with the key, and keep the Secret out of Git.`
          }
          onClose={() => setYaml(false)}
        />
      )}
    </>
  );
}

function stepsOf(form: ProviderForm): readonly Step[] {
  const { secret, provider, route } = buildProviderObjects(form);
  const { namespace } = form;
  return [
    ...(secret === undefined
      ? []
      : [
          {
            path: `kube/api/v1/namespaces/${namespace}/secrets`,
            body: secret,
            what: `Secret ${secret.metadata.name}`,
          },
        ]),
    { path: kubePath('providers', namespace), body: provider, what: `Provider ${form.name}` },
    { path: kubePath('modelroutes', namespace), body: route, what: `ModelRoute ${route.metadata.name}` },
  ];
}

function ProviderMade({ form }: { readonly form: ProviderForm }) {
  const { namespace, name, model } = form;
  // What had the focus is gone with the form.
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const provider = useObject<Provider>('providers', namespace, name);
  const routeName = routeNameOf(model);
  const route = useObject<ModelRoute>('modelroutes', namespace, routeName);
  return (
    <>
      <h1 tabIndex={-1}>Add provider</h1>
      <section class="panel" aria-labelledby="made-heading">
        <h2 id="made-heading" ref={heading} tabIndex={-1}>
          Provider added
        </h2>
        <ul class="plain-list" aria-live="polite">
          {[
            { kind: 'providers' as const, of: name, label: 'Provider', object: provider.object },
            { kind: 'routes' as const, of: routeName, label: 'Route', object: route.object },
          ].map(({ kind, of, label, object }) => {
            const status = object && statusOf(object);
            return (
              <li key={kind}>
                {label} <Link to={pathOf(kind, namespace, of)}>{of}</Link>{' '}
                {status !== undefined && <Badge tone={status.tone}>{status.word}</Badge>}
                {status?.message !== undefined && <p class="faint">{status.message}</p>}
              </li>
            );
          })}
        </ul>
        <p>
          Keys of {namespace} can call <code>{model}</code> once the route is ready.{' '}
          <Link to={`/models?namespace=${namespace}`}>Open models</Link>
        </p>
      </section>
    </>
  );
}
