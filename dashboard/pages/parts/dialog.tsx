// How does a dialog behave? As the browser's own: it keeps the focus, closes with Escape, and gives the focus back.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Said, useShell } from '../shell/context.tsx';
import { type Plain, toYaml } from '../words/yaml.ts';
import { Code } from './basics.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const { announce } = useShell();
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current;
    // The browser returns the focus to this element, unless the element is gone.
    const before = document.activeElement;
    shown?.showModal();
    // An earlier announcement is not about this dialog.
    announce('');
    return () => {
      isGone.current = true;
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  // The browser tells of its end later, when the next one may stand there already.
  const close = () => {
    if (!isGone.current) onClose();
  };
  return (
    <dialog
      ref={dialog}
      class={isWide ? 'wide' : undefined}
      aria-labelledby={id}
      onClose={close}
      onCancel={close}
    >
      <header class="dialog-head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="button quiet close" aria-label="Close" onClick={close}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3 3l10 10M13 3L3 13" />
          </svg>
        </button>
      </header>
      {children}
      <Said />
    </dialog>
  );
}

export function YamlDialog({
  objects,
  note,
  onClose,
  children,
}: {
  readonly objects: readonly object[];
  readonly note?: string | undefined;
  readonly onClose: () => void;
  /** What belongs to it and does not stand in it. */
  readonly children?: ComponentChildren;
}) {
  const { session } = useShell();
  return (
    <Dialog title="YAML" onClose={onClose} isWide>
      <p>
        {session.mode === 'local'
          ? 'Save it as a file in the manifests folder.'
          : 'Ready for kubectl apply -f and for Git.'}{' '}
        {note}
      </p>
      {children}
      <Code text={toYaml(objects as readonly Plain[])} label="YAML" />
    </Dialog>
  );
}
