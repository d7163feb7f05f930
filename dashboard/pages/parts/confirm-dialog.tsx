// Is it really meant? What stops callers says so first, and is done by a second click.

import type { ComponentChildren } from 'preact';
import { Button } from './basics.tsx';
import { Dialog } from './dialog.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  /** On the button that does it. */
  readonly action: string;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  /** What callers notice. */
  readonly children: ComponentChildren;
}

export function ConfirmDialog({ title, action, onClose, onConfirm, children }: ConfirmDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          look="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {action}
        </Button>
      </div>
    </Dialog>
  );
}

interface EffectsDialogProps {
  /** Of the object that is edited. */
  readonly name: string;
  readonly effects: readonly string[];
  readonly onClose: () => void;
  readonly onConfirm: () => void;
}

/** Before an edit that callers notice. */
export function EffectsDialog({ name, effects, onClose, onConfirm }: EffectsDialogProps) {
  return (
    <ConfirmDialog
      title={`Save ${name}? Callers notice it`}
      action="Save and apply"
      onClose={onClose}
      onConfirm={onConfirm}
    >
      <ul>
        {effects.map((effect) => (
          <li key={effect}>{effect}</li>
        ))}
      </ul>
    </ConfirmDialog>
  );
}
