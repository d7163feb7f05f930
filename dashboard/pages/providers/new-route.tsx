// How is a route made? Its model id and the targets that serve it, the second of which is failover.

import { useRef, useState } from 'preact/hooks';
import { YamlDialog } from '../parts/dialog.tsx';
import { focusFirstProblem } from '../parts/fields.tsx';
import { FormEnd } from '../parts/form-end.tsx';
import type { FieldProblems } from '../parts/refused-fields.ts';
import { kubePath, useRightsWhereTyped } from '../shell/asking.tsx';
import { Link, useShell } from '../shell/context.tsx';
import { pathOf } from '../shell/place.ts';
import { createAll, nothingCreated } from './create-all.ts';
import { RouteFields } from './route-fields.tsx';
import { buildRoute, checkRouteForm, emptyRouteForm, nameOfRoute, type RouteForm } from './route-form.ts';

export function NewRoute() {
  const { api, session, namespace, announce, go, search } = useShell();
  // A page about a provider leads here with its name.
  const provider = new URLSearchParams(search).get('provider') ?? '';
  const [form, setForm] = useState<RouteForm>(() => ({
    ...emptyRouteForm,
    namespace: namespace ?? session.namespace ?? '',
    targets: emptyRouteForm.targets.map((target) => ({ ...target, provider })),
  }));
  const [problems, setProblems] = useState<FieldProblems>({});
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const [isYaml, setYaml] = useState(false);
  const created = useRef(nothingCreated);
  const element = useRef<HTMLFormElement>(null);
  const { isAllowed, missing } = useRightsWhereTyped(form.namespace)('create modelroutes');

  const show = (found: FieldProblems): void => {
    setProblems(found);
    if (Object.keys(found).length === 0) return;
    announce('Some fields are invalid.');
    focusFirstProblem(element.current);
  };
  const check = () => {
    const found = checkRouteForm(form);
    show(found);
    return Object.keys(found).length === 0;
  };
  const send = async () => {
    if (!check() || isSending) return;
    setSending(true);
    setRefusal(undefined);
    const name = nameOfRoute(form);
    const path = kubePath('modelroutes', form.namespace);
    const sent = await createAll(
      api,
      [{ path, body: buildRoute(form), what: `ModelRoute ${name}` }],
      created.current,
    );
    setSending(false);
    if (sent.is === 'done') {
      announce('Route added.');
      go(pathOf('routes', form.namespace, name));
      return;
    }
    created.current = sent.created;
    show(sent.problems ?? {});
    const more =
      sent.is === 'unknown' ? ' It may have been created. Add it again: the dashboard checks first.' : '';
    setRefusal(`${sent.message}${more}`);
  };
  return (
    <>
      <p class="crumbs">
        <Link to="/providers">Providers and routes</Link>
      </p>
      <h1 tabIndex={-1}>Add route</h1>
      <form
        ref={element}
        class="panel form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isAllowed) void send();
        }}
      >
        <RouteFields
          form={form}
          problems={problems}
          isNew
          onInput={(changes) => setForm((before) => ({ ...before, ...changes }))}
        />
        <FormEnd
          label="Add route"
          busyLabel="Adding…"
          isSending={isSending}
          isAllowed={isAllowed}
          missing={missing === undefined ? [] : [missing]}
          refusalTitle="Not added"
          refusal={refusal}
          onYaml={() => check() && setYaml(true)}
        />
      </form>
      {isYaml && <YamlDialog objects={[buildRoute(form)]} onClose={() => setYaml(false)} />}
    </>
  );
}
