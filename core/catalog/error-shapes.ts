// In which words do clients of a family of dialects read failures and limits? One row per shape of an error body.

import type { ErrorShape } from './dialects.ts';
import type { ErrorCode } from './error-codes.ts';

interface ErrorShapeFacts {
  /** Its SDKs also read limits from headers `<prefix>-<limit>-remaining` and so on, with times instead of durations. */
  readonly rateLimitPrefix?: string;
  /** Where a budget is spent: the code on which its clients stop at once. */
  readonly spentCode: ErrorCode;
  /** Where all upstreams are overloaded: the code on which its clients wait, or turn to another model. */
  readonly overloadedCode: ErrorCode;
}

export const ERROR_SHAPES: Readonly<Record<ErrorShape, ErrorShapeFacts>> = {
  openai: { spentCode: 'insufficient_quota', overloadedCode: 'upstream_overloaded' },
  messages: {
    rateLimitPrefix: 'anthropic-ratelimit',
    spentCode: 'billing_error',
    overloadedCode: 'upstream_overloaded_529',
  },
};
