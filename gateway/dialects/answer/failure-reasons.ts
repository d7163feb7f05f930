// With which reasons for the end of an answer do vendors say that it has failed? One row for each vendor, with where it was seen.

interface ReasonQuirk {
  readonly vendor: string;
  readonly reasons: readonly string[];
  /** A public thread or page that has it. */
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

/** From before there was this table, without a thread. */
const kept = { source: 'not recorded', seen: '2026-11' } as const;

const reasonQuirks: readonly ReasonQuirk[] = [
  { vendor: 'Mistral, OpenRouter and vLLM', reasons: ['error'], ...kept },
  // Where the engine ends a request itself: it is paused, scaled down or restarted.
  { vendor: 'vLLM and SGLang', reasons: ['abort', 'aborted'], ...kept },
  {
    vendor: 'DeepSeek',
    reasons: ['insufficient_system_resource'],
    source: 'https://deepseekv4pro.com/guides/deepseek-create-chat-completion-api',
    seen: '2026-07',
  },
  { vendor: 'Z.ai', reasons: ['network_error'], ...kept },
];

const failureReasons: ReadonlySet<unknown> = new Set(reasonQuirks.flatMap(({ reasons }) => reasons));

/**
 * Whether the reason for which an answer has ended says that the provider broke it off. Only words that are known to: vendors have
 * others of their own for a natural end, and clients take what they do not know for one.
 */
export function meansFailure(reason: unknown): boolean {
  return failureReasons.has(reason);
}
