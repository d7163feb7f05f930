// What is one piece of a streamed answer, in our own form? A discriminated union; lifecycle parts always
// come as start, delta, end. `choice` counts the answers of one upstream call from 0; `index` numbers the
// parts of a choice in order of appearance. Parts of one choice never overlap: a decoder holds back a
// later part until the earlier one has ended.

import type { Usage } from '../../core/contract/ledger-record.ts';
import type { FinishReason, RefusalDetails } from './conversation.ts';
import type { MarkedState } from './state/opaque.ts';

export type PartHead =
  | { readonly type: 'text' }
  | { readonly type: 'refusal' }
  | { readonly type: 'thinking' }
  | {
      readonly type: 'tool-call';
      /** As the upstream gave it; empty if it gave none. */
      readonly id: string;
      /** In the client's own terms. */
      readonly name: string;
      readonly namespace?: string;
      readonly kind: 'function' | 'custom';
    };

export type StreamPart =
  | { readonly type: 'answer-start'; readonly id: string; readonly model: string; readonly createdAt: number }
  | { readonly type: 'part-start'; readonly choice: number; readonly index: number; readonly head: PartHead }
  | {
      readonly type: 'part-delta';
      readonly choice: number;
      readonly index: number;
      /** Never empty. Of a function call: JSON text; without arguments exactly one delta, `{}`. */
      readonly text: string;
      /** Of text: a list of `{token, logprob, bytes, top_logprobs}`. */
      readonly logprobs?: readonly unknown[];
    }
  | {
      readonly type: 'part-end';
      readonly choice: number;
      readonly index: number;
      /** Of thinking. */
      readonly opaque?: MarkedState;
    }
  | {
      readonly type: 'choice-end';
      readonly choice: number;
      readonly finish: FinishReason;
      /** The upstream has not said how it ended: `finish` is assumed. */
      readonly isAssumed?: boolean;
      readonly stopSequence?: string;
      readonly refusal?: RefusalDetails;
    }
  /** The latest known counts, not an increment. Before the first `part-start` it may hold the input only. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** The upstream is alive; the client should get a sign of that, too. */
  | { readonly type: 'ping' };
