// Which fields does a user type into? Fields with a label, a hint and the problem, each tied to the field for screen readers.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly required?: boolean;
}

export interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'email' | 'date' | 'password' | 'search' | 'url';
  readonly placeholder?: string;
  readonly inputMode?: 'numeric' | 'decimal' | 'text';
  readonly list?: readonly string[];
  readonly isHiddenLabel?: boolean;
}

export function TextField(props: TextFieldProps) {
  const {
    label,
    value,
    onInput,
    hint,
    problem,
    required = false,
    type = 'text',
    list,
    isHiddenLabel = false,
  } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={isHiddenLabel ? 'unseen' : undefined}>
        {label}
        {required && <span class="needed"> required</span>}
      </label>
      <input
        id={id}
        // The types of Preact know which type may have which role; which one it is, is known at run time alone.
        {...({ type, list: list === undefined ? undefined : `${id}-list` } as { type: 'text' })}
        value={value}
        placeholder={props.placeholder}
        inputMode={props.inputMode}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        aria-required={required}
        aria-invalid={problem === undefined ? undefined : 'true'}
        aria-describedby={describedBy(id, hint, problem)}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((word) => (
            <option key={word} value={word} />
          ))}
        </datalist>
      )}
      <Below id={id} hint={hint} problem={problem} />
    </div>
  );
}

export function TextArea({
  label,
  value,
  onInput,
  hint,
  problem,
  rows = 4,
}: FieldProps & { readonly rows?: number }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        autoComplete="off"
        spellcheck={false}
        aria-invalid={problem === undefined ? undefined : 'true'}
        aria-describedby={describedBy(id, hint, problem)}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <Below id={id} hint={hint} problem={problem} />
    </div>
  );
}

export interface SelectFieldProps extends FieldProps {
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly isHiddenLabel?: boolean;
}

export function SelectField({
  label,
  value,
  onInput,
  options,
  hint,
  problem,
  required = false,
  isHiddenLabel = false,
}: SelectFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={isHiddenLabel ? 'unseen' : undefined}>
        {label}
        {required && <span class="needed"> required</span>}
      </label>
      <select
        id={id}
        value={value}
        aria-required={required || undefined}
        aria-invalid={problem === undefined ? undefined : 'true'}
        aria-describedby={describedBy(id, hint, problem)}
        onChange={(event) => onInput(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <Below id={id} hint={hint} problem={problem} />
    </div>
  );
}

export function CheckField({
  label,
  checked,
  onInput,
}: {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onInput: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onInput(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

/** One of a few values, all of them visible. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onInput,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly label: string; readonly note?: string }[];
  readonly onInput: (value: Value) => void;
}) {
  const name = useId();
  const hasNotes = options.some(({ note }) => note !== undefined);
  return (
    <fieldset class={hasNotes ? 'choice notes' : 'choice'}>
      <legend class={hasNotes ? undefined : 'unseen'}>{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onInput(option.value)}
          />
          <span>
            <span class="choice-label">{option.label}</span>
            {option.note !== undefined && <span class="choice-note">{option.note}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Below({
  id,
  hint,
  problem,
}: {
  readonly id: string;
  readonly hint: ComponentChildren;
  readonly problem: string | undefined;
}) {
  return (
    <>
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  );
}

function describedBy(id: string, hint: ComponentChildren, problem: string | undefined): string | undefined {
  const ids = [problem === undefined ? '' : `${id}-problem`, hint === undefined ? '' : `${id}-hint`].filter(
    Boolean,
  );
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** Focuses the first field with a problem after an attempt to send; a closed section around it opens. */
export function focusFirstProblem(form: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const field = form?.querySelector<HTMLElement>('[aria-invalid="true"]');
    field?.closest('details')?.setAttribute('open', '');
    field?.focus();
  });
}
