// Which fields has the form of a key, new or to be edited?

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { NamespaceField } from '../parts/namespace-field.tsx';
import { useShell } from '../shell/context.tsx';
import { LIMITS, limitMembers } from '../words/choices.ts';
import {
  type BudgetForm,
  endHint,
  type KeyForm,
  type KeyProblems,
  newBudget,
  PERIODS,
  type Problems,
} from './key-form.ts';
import { ModelsField } from './models-field.tsx';
import { periodWords } from './words.ts';

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly problems: KeyProblems;
  readonly isNew: boolean;
  /** For a new key: the choice of where it is kept. */
  readonly children?: ComponentChildren;
  /** Expiry of the present key. */
  readonly expiresAt?: string | undefined;
  readonly onInput: (changes: Partial<KeyForm>) => void;
}

export function KeyFields({ form, problems, isNew, children, expiresAt, onInput }: KeyFieldsProps) {
  const { session, formats } = useShell();
  const field = (name: Exclude<keyof KeyForm, 'budgets'>) => ({
    value: form[name],
    problem: problems[name],
    onInput: (value: string) => onInput({ [name]: value }),
  });
  const more = (
    <>
      <section class="fields" aria-label="Owner">
        <TextField label="Display name" placeholder="What the key is for" {...field('displayName')} />
        <div class="pair">
          <TextField label="Owner" placeholder="A person or a program" {...field('ownerName')} />
          <TextField label="Team" placeholder="A team or a cost centre" {...field('team')} />
        </div>
        <div class="pair">
          <TextField label="E-mail" type="email" {...field('ownerEmail')} />
          <TextField label="Expires" type="date" {...field('expires')} hint={endHint(expiresAt, formats)} />
        </div>
        <ModelsField namespace={form.namespace} {...field('allow')} />
      </section>
      <Budgets
        budgets={form.budgets}
        problems={problems.budgets ?? []}
        onInput={(budgets) => onInput({ budgets })}
      />
      <section class="fields" aria-labelledby="limits-heading">
        <h2 id="limits-heading">Limits</h2>
        <div class="triple">
          {limitMembers.map((member) => (
            <TextField
              key={member}
              label={LIMITS[member].label}
              inputMode="numeric"
              placeholder="No limit"
              {...field(member)}
            />
          ))}
        </div>
        {session.mode !== 'local' && <p class="hint">Shared by all gateway pods.</p>}
      </section>
      {children}
    </>
  );
  if (!isNew) return more;
  return (
    <>
      <div class="pair">
        <NamespaceField {...field('namespace')} />
        <TextField
          label="Name"
          required
          placeholder="ci-bot"
          {...field('name')}
          hint="Cannot be changed later."
        />
      </div>
      <details class="fold">
        <summary>Owner, expiry, models, budget, limits and storage</summary>
        <div>{more}</div>
      </details>
    </>
  );
}

/** For an incomplete or invalid date, browsers give an empty value, which would mean "never expires"; so it is marked. */
export function writtenIn(element: HTMLElement | null, form: KeyForm): KeyForm {
  return element?.querySelector('[type=date]:invalid') ? { ...form, expires: '-' } : form;
}

interface BudgetsProps {
  readonly budgets: readonly BudgetForm[];
  readonly problems: readonly Problems<BudgetForm>[];
  readonly onInput: (budgets: readonly BudgetForm[]) => void;
}

/** At most one for each period. */
function Budgets({ budgets, problems, onInput }: BudgetsProps) {
  const heading = useId();
  const adding = useRef<HTMLParagraphElement>(null);
  const isTakenAway = useRef(false);
  // Its button had the focus and is gone with it; the one to add another is always there afterwards.
  useEffect(() => {
    if (isTakenAway.current) adding.current?.querySelector('button')?.focus();
    isTakenAway.current = false;
  }, [budgets.length]);
  return (
    <section class="fields" aria-labelledby={heading}>
      <h2 id={heading}>{budgets.length > 1 ? 'Budgets' : 'Budget'}</h2>
      {budgets.map((budget, at) => {
        const change = (changes: Partial<BudgetForm>) => onInput(budgets.with(at, { ...budget, ...changes }));
        return (
          <fieldset class={budgets.length > 1 ? 'budget' : 'triple'} key={at}>
            <legend class="unseen">Budget {at + 1}</legend>
            <TextField
              label="Dollars"
              inputMode="decimal"
              placeholder="No budget"
              value={budget.limit}
              problem={problems[at]?.limit}
              onInput={(limit) => change({ limit })}
            />
            <SelectField
              label="Per"
              value={budget.period}
              problem={problems[at]?.period}
              onInput={(period) => change({ period: period as BudgetForm['period'] })}
              options={PERIODS.map((value) => ({ value, label: periodLabels[value] }))}
            />
            <SelectField
              label="When used up"
              value={budget.action}
              onInput={(action) => change({ action: action as BudgetForm['action'] })}
              options={[
                { value: 'Block', label: 'Refuse calls' },
                { value: 'Warn', label: 'Warn only' },
              ]}
            />
            {budgets.length > 1 && (
              <Button
                look="quiet"
                label={`Remove the budget per ${periodWords(budget.period)}`}
                onClick={() => {
                  isTakenAway.current = true;
                  onInput(budgets.toSpliced(at, 1));
                }}
              >
                Remove
              </Button>
            )}
          </fieldset>
        );
      })}
      <p class="hint">Periods start at 00:00 UTC.</p>
      {budgets.length < PERIODS.length && (
        <p ref={adding}>
          <Button onClick={() => onInput([...budgets, newBudget(budgets)])}>Add budget</Button>
        </p>
      )}
    </section>
  );
}

const periodLabels = {
  Day: 'Day',
  Week: 'Week, from Monday',
  Month: 'Month',
  Total: 'In total',
} as const satisfies Record<BudgetForm['period'], string>;
