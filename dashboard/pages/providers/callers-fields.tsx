// From which namespaces may it be used? The same question of a route and of a provider.

import { SelectField, TextField } from '../parts/fields.tsx';
import { type FieldProblems, problemAt } from '../parts/refused-fields.ts';
import type { CallersForm } from './callers-form.ts';

interface CallersFieldsProps extends CallersForm {
  readonly label: string;
  readonly problems: FieldProblems;
  readonly onInput: (changes: Partial<CallersForm>) => void;
}

export function CallersFields({ label, callers, callerNames, problems, onInput }: CallersFieldsProps) {
  const problem = problemAt(problems, 'allowedNamespaces');
  const isNamed = callers === 'Selector';
  return (
    <div class="pair">
      <SelectField
        label={label}
        value={callers}
        problem={isNamed ? undefined : problem}
        onInput={(next) => onInput({ callers: next as CallersForm['callers'] })}
        options={[
          { value: 'Same', label: 'Own namespace' },
          { value: 'Selector', label: 'Named namespaces' },
          { value: 'All', label: 'All namespaces' },
        ]}
        hint="Other namespaces: platform namespaces only."
      />
      {isNamed && (
        <TextField
          label="Namespaces"
          placeholder="team-a, team-b"
          value={callerNames}
          problem={problem}
          onInput={(next) => onInput({ callerNames: next })}
        />
      )}
    </div>
  );
}
