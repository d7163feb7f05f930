// Which models may a key call? Picked from those that the namespace sees, or typed; a text that names none of them is pointed out.

import { type Catalog, modelsOf } from '../models/catalog.ts';
import { Button } from '../parts/basics.tsx';
import { TextField } from '../parts/fields.tsx';
import { useAsked, useSettled } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import { namespacePattern } from '../words/names.ts';
import { modelsIn, unknownModels } from './key-form.ts';

interface ModelsFieldProps {
  readonly namespace: string;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onInput: (allow: string) => void;
}

/** More are typed. */
const buttonsMax = 30;

export function ModelsField({ namespace, value, problem, onInput }: ModelsFieldProps) {
  const { api, session } = useShell();
  const settled = useSettled(namespace, 500);
  const { answer } = useAsked(
    session.hasLedger && namespacePattern.test(settled) ? `catalog ${settled}` : undefined,
    (signal) =>
      api.call<Catalog>('ledger/v1/catalog', { method: 'POST', body: { namespace: settled }, signal }),
  );
  const typed = useSettled(value, 500);
  const ids = answer && modelsOf(answer).map(({ id }) => id);
  const unknown = ids === undefined ? [] : unknownModels(typed, ids);
  const chosen = modelsIn(value);
  return (
    <div class="fields">
      <TextField
        label="Models"
        placeholder="All visible to the namespace"
        value={value}
        onInput={onInput}
        problem={problem}
        hint="Model ids, separated by commas. A * at the end matches any ending."
      />
      {ids !== undefined && ids.length > 0 && (
        <fieldset class="tabs" aria-label="Models of the namespace">
          {ids.slice(0, buttonsMax).map((id) => (
            <Button
              key={id}
              look="quiet"
              pressed={chosen.includes(id)}
              onClick={() =>
                onInput(
                  (chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]).join(', '),
                )
              }
            >
              {id}
            </Button>
          ))}
        </fieldset>
      )}
      {unknown.length > 0 && (
        <p class="notice warn" role="status">
          The namespace has no model {unknown.map((model) => `“${model}”`).join(', ')}. The key can call it
          only once there is one.
        </p>
      )}
    </div>
  );
}
