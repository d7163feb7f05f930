// Which fields has the form of a key, new or to be edited?

import { Choice, SelectField, TextField } from '../parts/fields.tsx';
import { useShell } from '../shell/context.tsx';
import type { KeyForm, Problems } from './key-form.ts';

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly problems: Problems<KeyForm>;
  readonly isNew: boolean;
  readonly onInput: (changes: Partial<KeyForm>) => void;
}

export function KeyFields({ form, problems, isNew, onInput }: KeyFieldsProps) {
  const { namespaces } = useShell();
  const field = (name: keyof KeyForm) => ({
    value: form[name],
    problem: problems[name],
    onInput: (value: string) => onInput({ [name]: value }),
  });
  return (
    <>
      <section class="fields" aria-label="Whose key it is">
        {isNew && (
          <div class="pair">
            <TextField label="Namespace" required {...field('namespace')} list={namespaces.namespaces} />
            <TextField
              label="Name"
              required
              placeholder="ci-bot"
              {...field('name')}
              hint="Of the ApiKey object. It cannot be changed later."
            />
          </div>
        )}
        <div class="pair">
          <TextField label="Owner" placeholder="A person or a program" {...field('ownerName')} />
          <TextField label="Team" placeholder="A team or a cost centre" {...field('team')} />
        </div>
        <div class="pair">
          <TextField label="E-mail" type="email" {...field('ownerEmail')} />
          <TextField
            label="Works until"
            type="date"
            {...field('expires')}
            hint="Until this day begins, in UTC. Empty: no end."
          />
        </div>
        <TextField
          label="Models"
          placeholder="All that the namespace can see"
          {...field('allow')}
          hint="Model ids, with commas between them. An id may end in * to mean all that begin so."
        />
      </section>
      <section class="fields" aria-labelledby="budget-heading">
        <h2 id="budget-heading">Budget</h2>
        <div class="pair">
          <TextField label="Dollars" inputMode="decimal" placeholder="No budget" {...field('budgetLimit')} />
          <SelectField
            label="Per"
            {...field('budgetPeriod')}
            onInput={(period) => onInput({ budgetPeriod: period as KeyForm['budgetPeriod'] })}
            options={[
              { value: 'Day', label: 'Day' },
              { value: 'Week', label: 'Week, from Monday' },
              { value: 'Month', label: 'Month' },
              { value: 'Total', label: 'All of time' },
            ]}
          />
        </div>
        {form.budgetLimit.trim() !== '' && (
          <Choice
            label="When it is used up"
            value={form.budgetAction}
            onInput={(budgetAction) => onInput({ budgetAction })}
            options={[
              { value: 'Block', label: 'Refuse calls', note: 'Until the next period begins, in UTC.' },
              { value: 'Warn', label: 'Only say so', note: 'Calls go on.' },
            ]}
          />
        )}
      </section>
      <section class="fields" aria-labelledby="limits-heading">
        <h2 id="limits-heading">Limits</h2>
        <div class="triple">
          <TextField
            label="Requests per minute"
            inputMode="numeric"
            placeholder="No limit"
            {...field('requestsPerMinute')}
          />
          <TextField
            label="Tokens per minute"
            inputMode="numeric"
            placeholder="No limit"
            {...field('tokensPerMinute')}
          />
          <TextField
            label="Requests at once"
            inputMode="numeric"
            placeholder="No limit"
            {...field('maxConcurrentRequests')}
          />
        </div>
        <p class="hint">Over all gateway pods together.</p>
      </section>
    </>
  );
}
