// What is one piece of a streamed answer, in our own form? A discriminated union; lifecycle parts
// always come as start, delta, end. `choice` counts the answers of one upstream call from 0;
// `index` numbers the open parts of a choice in order of appearance.

import type { Usage } from '../contract/ledger-record.ts';
import type { FinishReason } from './conversation.ts';

export type PartHead =
  | { readonly type: 'text' }
  | { readonly type: 'refusal' }
  | { readonly type: 'thinking' }
  | {
      readonly type: 'tool-call';
      readonly id: string;
      readonly name: string;
      readonly kind: 'function' | 'custom';
    };

export type StreamPart =
  | { readonly type: 'answer-start'; readonly id: string; readonly model: string; readonly createdAt: number }
  | { readonly type: 'part-start'; readonly choice: number; readonly index: number; readonly head: PartHead }
  | { readonly type: 'part-delta'; readonly choice: number; readonly index: number; readonly text: string }
  | { readonly type: 'part-end'; readonly choice: number; readonly index: number; readonly opaque?: string }
  | {
      readonly type: 'choice-end';
      readonly choice: number;
      readonly finish: FinishReason;
      readonly stopSequence?: string;
    }
  /** The latest known counts, not an increment. */
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'ping' };
