// Which small pieces are all views made of? Buttons, notices, badges, times, copy.

import type { ComponentChildren, JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { RightName } from '../../api-types.ts';
import type { Asked, May } from '../shell/asking.tsx';
import { useNow } from '../shell/asking.tsx';
import { useShell } from '../shell/context.tsx';
import type { Tone } from '../words/conditions.ts';

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  readonly look?: 'main' | 'plain' | 'danger' | 'quiet';
  readonly type?: 'button' | 'submit';
  readonly disabled?: boolean;
  readonly describedBy?: string | undefined;
  readonly pressed?: boolean;
  readonly label?: string;
}

/** A disabled button keeps its place in the tab order, so that its reason can be read. */
export function Button({
  children,
  onClick,
  look = 'plain',
  type = 'button',
  disabled = false,
  describedBy,
  pressed,
  label,
}: ButtonProps) {
  return (
    <button
      type={type}
      class={`button ${look}`}
      aria-disabled={disabled ? 'true' : undefined}
      aria-describedby={describedBy}
      aria-pressed={pressed}
      aria-label={label}
      onClick={(event) => {
        if (disabled) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}

export interface Action {
  readonly label: string;
  readonly right: RightName;
  readonly onClick: () => void;
  readonly look?: ButtonProps['look'];
}

/** Buttons, and the rights that the disabled ones need. */
export function Actions({ actions, may }: { readonly actions: readonly Action[]; readonly may: May }) {
  const id = useId();
  const missing = [...new Set(actions.flatMap(({ right }) => may(right).missing ?? []))];
  return (
    <div class="actions">
      <div class="row">
        {actions.map(({ label, right, onClick, look = 'plain' }) => {
          const { isAllowed, missing: lacks } = may(right);
          return (
            <Button
              key={label}
              look={look}
              onClick={onClick}
              disabled={!isAllowed}
              describedBy={lacks === undefined ? undefined : id}
            >
              {label}
            </Button>
          );
        })}
      </div>
      {missing.length > 0 && (
        <p id={id} class="missing">
          Missing rights: {missing.map((right, at) => [at > 0 && '; ', <code key={right}>{right}</code>])}.
          Ask your platform team.
        </p>
      )}
    </div>
  );
}

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Notice({
  tone,
  title,
  children,
}: {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      {title !== undefined && <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** @param children what is lacking without it. */
export function NoLedger({ children }: { readonly children: ComponentChildren }) {
  return (
    <Notice tone="off" title="No ledger">
      <p>Without a ledger {children}. Enable it with ledger.enabled in the chart.</p>
    </Notice>
  );
}

/** Loading, failed, or the answer; an old answer stays and is marked. */
export function Answered<Answer>({
  asked,
  what,
  children,
}: {
  readonly asked: Asked<Answer>;
  /** As in "Keys could not be loaded". */
  readonly what: string;
  readonly children: (answer: Answer) => ComponentChildren;
}) {
  const { answer, error, isAsking, again } = asked;
  return (
    <div aria-busy={isAsking}>
      {error !== undefined && (
        <Notice
          tone="bad"
          title={answer === undefined ? `${what} could not be loaded` : `${what}: out of date`}
        >
          <p>{error.message}</p>
          <Button onClick={again}>Try again</Button>
        </Notice>
      )}
      {answer === undefined && error === undefined && (
        <p class="loading" role="status">
          {what}: loading…
        </p>
      )}
      {answer !== undefined && children(answer)}
    </div>
  );
}

export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A text of the operator. */
export function Prose({ text }: { readonly text: string }) {
  const { formats } = useShell();
  return <>{formats.prose(text)}</>;
}

const justAheadMs = 60_000;

/** How long ago, with the whole time to be read on it. */
export function Ago({ at }: { readonly at: string | null | undefined }) {
  const { formats } = useShell();
  const nowMs = useNow();
  if (at === null || at === undefined) return <span class="faint">never</span>;
  // The page's time moves on each half minute, data may be younger: what is just ahead is now.
  const aheadMs = Date.parse(at) - nowMs;
  return (
    <time dateTime={at} title={formats.time(at)}>
      {formats.ago(at, aheadMs > 0 && aheadMs < justAheadMs ? nowMs + aheadMs : nowMs)}
    </time>
  );
}

/** Of a key; unknown without a ledger. */
export function LastUsed({ at }: { readonly at: string | null | undefined }) {
  const { session } = useShell();
  return at || session.hasLedger ? <Ago at={at} /> : <span class="faint">not counted</span>;
}

export function CopyButton({
  text,
  label = 'Copy',
  whenCopied,
}: {
  readonly text: string;
  readonly label?: string;
  readonly whenCopied?: () => void;
}) {
  const { announce } = useShell();
  return <CopyText text={text} label={label} announce={announce} whenCopied={whenCopied} />;
}

/** Works without a session too, so it takes `announce` as a property. */
export function CopyText({
  text,
  label,
  announce,
  whenCopied,
}: {
  readonly text: string;
  readonly label: string;
  readonly announce?: (text: string) => void;
  readonly whenCopied?: (() => void) | undefined;
}) {
  const [word, setWord] = useState(label);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setWord('Copied');
      announce?.('Copied.');
      whenCopied?.();
    } catch {
      setWord('Select and copy');
    }
    setTimeout(() => setWord(label), 2_000);
  };
  return (
    <Button look="plain" onClick={() => void copy()}>
      {word}
    </Button>
  );
}

export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code">
      <CodeText text={text} label={label} />
      <CopyButton text={text} />
    </div>
  );
}

/** Lines that may be longer than there is room: to be scrolled with the keyboard too. */
export function CodeText({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reached by the keyboard
    <section class="code-text" aria-label={label} tabIndex={0}>
      <pre>
        <code>{text}</code>
      </pre>
    </section>
  );
}

/** Names and values, such as the facts of an object. */
export function Facts({
  facts,
  isLong = false,
}: {
  readonly facts: readonly (readonly [string, ComponentChildren])[];
  /** Of the names. */
  readonly isLong?: boolean;
}) {
  return (
    <dl class={isLong ? 'facts long' : 'facts'}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How much of a budget is used. */
export function Meter({ share, label }: { readonly share: number; readonly label: string }) {
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good';
  const width = Math.max(0, Math.min(1, share)) * 100;
  return (
    <svg class={`meter ${tone}`} viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="meter-all" width="100" height="4" />
      <rect class="meter-used" width={width} height="4" />
    </svg>
  );
}

export type Children = ComponentChildren;
export type { JSX };
