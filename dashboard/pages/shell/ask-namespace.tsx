// Whose things are to be shown, where none can be chosen? Whoever may not list namespaces is asked before any view asks for them.

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
      <h1 tabIndex={-1}>Type the namespace you work in</h1>
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
          problem={isRefused && !isName ? 'This is no name of a namespace.' : undefined}
          hint="They could not be listed for you. The one that you type stands in the address: a bookmark keeps it."
        />
        <Button type="submit" look="main">
          Show
        </Button>
      </form>
    </div>
  );
}
