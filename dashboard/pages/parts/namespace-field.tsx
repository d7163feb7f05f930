// In which namespace? Picked where the person may list them and there are few, typed elsewhere.

import { useShell } from '../shell/context.tsx';
import { namespacePattern, namespaceProblem } from '../words/names.ts';
import { SelectField, TextField } from './fields.tsx';

interface NamespaceFieldProps {
  readonly value: string;
  readonly problem: string | undefined;
  readonly onInput: (namespace: string) => void;
}

export const PICKED_MAX = 200;

export function NamespaceField({ value, problem, onInput }: NamespaceFieldProps) {
  const { isComplete, namespaces } = useShell().namespaces;
  if (!isComplete || namespaces.length > PICKED_MAX)
    return (
      <TextField
        label="Namespace"
        required
        list={namespaces}
        value={value}
        onInput={onInput}
        problem={
          problem ?? (value === '' || namespacePattern.test(value) ? undefined : namespaceProblem(value))
        }
      />
    );
  return (
    <SelectField
      label="Namespace"
      required
      value={value}
      onInput={onInput}
      problem={problem}
      options={['', ...(namespaces.includes(value) || value === '' ? [] : [value]), ...namespaces].map(
        (name) => ({ value: name, label: name || 'Choose…' }),
      )}
    />
  );
}
