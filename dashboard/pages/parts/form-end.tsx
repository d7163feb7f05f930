// How does a form end that makes something? Why it was not made, what makes it, what it would make, and which rights are missing for that.

import { useId } from 'preact/hooks';
import { Button, Notice } from './basics.tsx';

interface FormEndProps {
  /** As in "Create key", and "Creating…" while it runs. */
  readonly label: string;
  readonly busyLabel: string;
  readonly isSending: boolean;
  readonly isAllowed: boolean;
  readonly missing: readonly string[];
  /** As in "The key was not created". */
  readonly refusalTitle: string;
  readonly refusal: string | undefined;
  readonly onYaml: () => void;
}

export function FormEnd({
  label,
  busyLabel,
  isSending,
  isAllowed,
  missing,
  refusalTitle,
  refusal,
  onYaml,
}: FormEndProps) {
  const id = useId();
  return (
    <>
      {refusal !== undefined && (
        <Notice tone="bad" title={refusalTitle}>
          <p>{refusal}</p>
        </Notice>
      )}
      <div class="row">
        <Button
          type="submit"
          look="main"
          disabled={isSending || !isAllowed}
          describedBy={missing.length === 0 ? undefined : id}
        >
          {isSending ? busyLabel : label}
        </Button>
        <Button onClick={onYaml}>View as YAML</Button>
      </div>
      {missing.length > 0 && (
        <p class="missing" id={id}>
          Missing rights: {missing.map((right, at) => [at > 0 && '; ', <code key={right}>{right}</code>])}.
        </p>
      )}
    </>
  );
}
