// Which fields does a route have? The same when it is made and when it is edited.

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { type FieldProblems, problemAt } from '../parts/refused-fields.ts';
import { kubePath, useAsked, useSettled } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import type { Provider } from '../words/kube.ts';
import { namespacePattern } from '../words/names.ts';
import { CallersFields } from './callers-fields.tsx';
import { routeNameOf } from './provider-form.ts';
import { newTarget, type RouteForm, type TargetForm } from './route-form.ts';
import { testConnection } from './test-connection.tsx';

interface RouteFieldsProps {
  readonly form: RouteForm;
  readonly problems: FieldProblems;
  readonly isNew: boolean;
  readonly onInput: (changes: Partial<RouteForm>) => void;
}

export function RouteFields({ form, problems, isNew, onInput }: RouteFieldsProps) {
  const { namespaces } = useShell();
  const heading = useId();
  const field = (name: Exclude<keyof RouteForm, 'targets' | 'price' | 'callers'>, path: string = name) => ({
    value: form[name],
    problem: problemAt(problems, path),
    onInput: (value: string) => onInput({ [name]: value }),
  });
  return (
    <>
      <section class="fields" aria-labelledby={`${heading}-model`}>
        <h2 id={`${heading}-model`}>Model</h2>
        {isNew && (
          <div class="pair">
            <TextField label="Namespace" required {...field('namespace')} list={namespaces.namespaces} />
            <TextField
              label="Name"
              placeholder={form.model === '' ? 'Made from the model id' : routeNameOf(form.model)}
              {...field('name')}
            />
          </div>
        )}
        <div class={isNew ? 'pair' : undefined}>
          {isNew && (
            <TextField
              label="Model id"
              required
              placeholder="llama"
              {...field('model')}
              hint="The id callers use. Cannot be changed later."
            />
          )}
          <TextField
            label="Aliases"
            placeholder="None"
            {...field('aliases')}
            hint="Further ids of the same model, separated by commas."
          />
        </div>
      </section>
      <Targets form={form} problems={problems} onInput={onInput} />
      <section class="fields" aria-labelledby={`${heading}-price`}>
        <h2 id={`${heading}-price`}>Price and callers</h2>
        <SelectField
          label="Price"
          value={form.price}
          problem={form.price === 'Stated' ? undefined : problemAt(problems, 'pricing')}
          onInput={(price) => onInput({ price: price as RouteForm['price'] })}
          options={[
            { value: 'List', label: 'List price of the vendor' },
            { value: 'Stated', label: 'Stated here' },
            { value: 'Provisioned', label: 'Provisioned capacity' },
          ]}
        />
        {form.price === 'Stated' && (
          <div class="triple">
            <TextField
              label="Input, $ per million tokens"
              inputMode="decimal"
              {...field('inputPerMillion', 'pricing.inputPerMillion')}
              problem={problemAt(problems, 'pricing.inputPerMillion') ?? problems.pricing}
            />
            <TextField
              label="Output, $ per million tokens"
              inputMode="decimal"
              {...field('outputPerMillion', 'pricing.outputPerMillion')}
            />
            <TextField
              label="$ per request"
              inputMode="decimal"
              placeholder="None"
              {...field('perRequest', 'pricing.perRequest')}
            />
          </div>
        )}
        <CallersFields label="Callers from" {...form} problems={problems} onInput={onInput} />
      </section>
    </>
  );
}

function Targets({ form, problems, onInput }: Omit<RouteFieldsProps, 'isNew'>) {
  const { targets } = form;
  const heading = useId();
  const { api, session, announce } = useShell();
  const providers = useProviderNames(form.namespace);
  const [models, setModels] = useState<ReadonlyMap<string, readonly string[]>>(new Map());
  const [found, setFound] = useState('');
  const suggest = async () => {
    const names = [...new Set(targets.map(({ provider }) => provider))].filter((name) =>
      providers.includes(name),
    );
    const words = await Promise.all(
      names.map(async (provider) => {
        const tested = await testConnection(api, { namespace: form.namespace, provider }).catch(
          (error: Error) => ({ models: undefined, message: error.message }),
        );
        setModels((before) => new Map(before).set(provider, tested.models ?? []));
        return `${provider}: ${tested.message}`;
      }),
    );
    const said = words.length === 0 ? 'Choose a provider of this namespace first.' : words.join(' ');
    setFound(said);
    announce(said);
  };
  const adding = useRef<HTMLParagraphElement>(null);
  const isRemoved = useRef(false);
  // Its button had the focus and is gone with it; the one to add another is always there afterwards.
  useEffect(() => {
    if (isRemoved.current) adding.current?.querySelector('button')?.focus();
    isRemoved.current = false;
  }, [targets.length]);
  return (
    <section class="fields" aria-labelledby={heading}>
      <h2 id={heading}>Targets</h2>
      {targets.map((target, at) => {
        const field = (name: Exclude<keyof TargetForm, 'from'>, path: string = name) => ({
          value: target[name],
          problem: problemAt(problems, `targets[${at}].${path}`),
          onInput: (value: string) => onInput({ targets: targets.with(at, { ...target, [name]: value }) }),
        });
        return (
          <fieldset class="target" key={at}>
            <legend class="unseen">Target {at + 1}</legend>
            <TextField
              label="Provider"
              required
              placeholder="own-models"
              {...field('provider', 'providerRef')}
              list={providers}
            />
            <TextField
              label="Upstream model"
              required
              placeholder="llama-4"
              {...field('upstreamModel')}
              {...(models.has(target.provider) && { list: models.get(target.provider) ?? [] })}
            />
            <TextField label="Priority" inputMode="numeric" {...field('priority')} />
            <TextField label="Weight" inputMode="numeric" {...field('weight')} />
            {targets.length > 1 && (
              <Button
                look="quiet"
                label={`Remove target ${at + 1}`}
                onClick={() => {
                  isRemoved.current = true;
                  onInput({ targets: targets.toSpliced(at, 1) });
                }}
              >
                Remove
              </Button>
            )}
          </fieldset>
        );
      })}
      {problems.targets !== undefined && <p class="problem">{problems.targets}</p>}
      <p class="hint">
        Priority 0 is tried first; the next number when those fail. Weight shares calls within a priority.
      </p>
      <p ref={adding} class="row">
        {targets.length < 16 && (
          <Button onClick={() => onInput({ targets: [...targets, newTarget(targets)] })}>Add target</Button>
        )}
        {session.hasLedger && (
          <Button look="quiet" onClick={() => void suggest()}>
            Suggest models
          </Button>
        )}
      </p>
      {found !== '' && <p class="hint">{found}</p>}
    </section>
  );
}

/** Of the namespace; empty while they are not known. */
function useProviderNames(namespace: string): readonly string[] {
  const { api } = useShell();
  const typed = useSettled(namespace, 500);
  const { answer } = useAsked(namespacePattern.test(typed) ? `providers of ${typed}` : undefined, (signal) =>
    api.call<{ readonly items: readonly Provider[] }>(kubePath('providers', typed), {
      query: { limit: 500 },
      signal,
    }),
  );
  return answer?.items.map(({ metadata }) => metadata.name) ?? [];
}
