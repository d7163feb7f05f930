// Which namespace is shown? One, or all for users with the right to list them. Other users type one.

import { useEffect, useState } from 'preact/hooks';
import { SelectField, TextField } from '../parts/fields.tsx';
import { namespacePattern } from '../words/names.ts';
import { useShell } from './context.tsx';

interface NamespacePickerProps {
  /** The value for all namespaces. */
  readonly all: string;
  readonly value: string;
  readonly onPick: (namespace: string) => void;
}

export function NamespacePicker({ all, value, onPick }: NamespacePickerProps) {
  const { namespaces } = useShell();
  const [typed, setTyped] = useState(value === all ? '' : value);
  useEffect(() => setTyped(value === all ? '' : value), [value, all]);
  if (namespaces.isComplete && namespaces.namespaces.length <= 200) {
    const known = namespaces.namespaces.includes(value) || value === all ? [] : [value];
    return (
      <div class="namespace">
        <SelectField
          label="Namespace"
          isHiddenLabel
          value={value}
          onInput={onPick}
          options={[
            { value: all, label: 'All namespaces' },
            ...[...known, ...namespaces.namespaces].map((name) => ({ value: name, label: name })),
          ]}
        />
      </div>
    );
  }
  const isName = namespacePattern.test(typed);
  return (
    <form
      class="namespace"
      onSubmit={(event) => {
        event.preventDefault();
        if (isName) onPick(typed);
        else if (typed === '' && namespaces.isComplete) onPick(all);
      }}
      onFocusOut={() => {
        if (isName && typed !== value) onPick(typed);
      }}
    >
      <TextField
        label="Namespace"
        isHiddenLabel
        placeholder={namespaces.isComplete ? 'All namespaces' : 'Namespace'}
        value={typed}
        onInput={setTyped}
        list={namespaces.namespaces}
        problem={typed === '' || isName ? undefined : 'Not a namespace name'}
      />
    </form>
  );
}
