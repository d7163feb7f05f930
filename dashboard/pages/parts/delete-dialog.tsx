// Delete? Typing the name confirms it.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './basics.tsx';
import { NotDone, useChange } from './change.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';

interface DeleteDialogProps {
  readonly title: string;
  readonly path: string;
  readonly name: string;
  readonly onClose: () => void;
  readonly whenDone: () => void;
  readonly children: ComponentChildren;
}

export function DeleteDialog({ title, path, name, onClose, whenDone, children }: DeleteDialogProps) {
  const [typed, setTyped] = useState('');
  const change = useChange(whenDone);
  const isSure = typed === name;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isSure) void change.run(path, 'DELETE', undefined, `${name} deleted.`);
        }}
      >
        {children}
        <TextField label={`Type ${name} to confirm`} value={typed} onInput={setTyped} />
        <NotDone problem={change.problem} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="danger" disabled={!isSure || change.isSending}>
            {change.isSending ? 'Deleting…' : 'Delete'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
