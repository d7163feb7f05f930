// Which namespace is shown? A user without the right to list namespaces enters one.

import { useState } from 'preact/hooks';
import { Button } from '../parts/basics.tsx';
import { TextField } from '../parts/fields.tsx';
import { namespacePattern } from '../words/names.ts';

export function AskNamespace({ onPick }: { readonly onPick: (namespace: string) => void }) {
  const [typed, setTyped] = useState('');
  const [isRefused, setRefused] = useState(false);
  const isName = namespacePattern.test(typed.trim());
  return (
    <div class="ask">
      <h1 tabIndex={-1}>Enter a namespace</h1>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault();
          if (isName) onPick(typed.trim());
          setRefused(!isName);
        }}
      >
        <TextField
          label="Namespace"
          value={typed}
          onInput={setTyped}
          problem={
            isRefused && !isName ? 'Not a namespace name. Use lower-case letters, digits and "-".' : undefined
          }
          hint="You may not list namespaces. A bookmark keeps the one you enter."
        />
        <Button type="submit" look="main">
          Show
        </Button>
      </form>
    </div>
  );
}
