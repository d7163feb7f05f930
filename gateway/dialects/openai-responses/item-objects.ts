// What does an output item look like, while it grows and when it has ended?

import { asRecord, type JsonRecord } from '../../json/record.ts';
import type { KeptText } from '../answer/kept.ts';
import type { PartHead } from '../stream-part.ts';
import { type ClientToolType, encodeClientCall } from './client-tools.ts';

export type CallHead = Extract<PartHead, { type: 'tool-call' }>;
type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

interface ShownText {
  readonly isRefusal: boolean;
  readonly text: KeptText;
  /** Of tokens, as JSON: objects take three times as much. A comma follows each. */
  readonly logprobs: KeptText;
}

export interface OpenCall {
  readonly type: 'call';
  readonly id: string;
  readonly callId: string;
  readonly head: CallHead;
  /** The tool whose calls have items of their own. */
  readonly form: ClientToolType | undefined;
  readonly input: KeptText;
}

export type OpenItem =
  | { readonly type: 'message'; readonly id: string; readonly content: ShownText[] }
  | OpenCall
  | {
      readonly type: 'reasoning';
      readonly id: string;
      readonly isShown: boolean;
      readonly text: KeptText;
      sealed: string | undefined;
    };

export function encodeItem(item: OpenItem, status: ItemStatus): JsonRecord {
  const { id } = item;
  switch (item.type) {
    case 'message':
      return { type: 'message', id, status, role: 'assistant', content: item.content.map(encodeText) };
    case 'reasoning':
      return {
        type: 'reasoning',
        id,
        status,
        summary:
          item.isShown && status !== 'in_progress'
            ? [{ type: 'summary_text', text: item.text.toString() }]
            : [],
        ...(item.sealed === undefined ? {} : { encrypted_content: item.sealed }),
      };
    case 'call': {
      const { head, callId } = item;
      const input = item.input.toString();
      const own = item.form && encodeClientCall(item.form, input);
      if (own) return { ...own, id, call_id: callId, status };
      const named = {
        name: head.name,
        ...(head.namespace === undefined ? {} : { namespace: head.namespace }),
      };
      return head.kind === 'custom'
        ? { type: 'custom_tool_call', id, status, call_id: callId, ...named, input }
        : { type: 'function_call', id, status, call_id: callId, ...named, arguments: input };
    }
  }
}

export function encodeText(part: ShownText | undefined): JsonRecord {
  if (part?.isRefusal) return { type: 'refusal', refusal: part.text.toString() };
  return {
    type: 'output_text',
    text: part?.text.toString() ?? '',
    annotations: [],
    logprobs: part ? tokensOf(part) : [],
  };
}

export function tokensOf({ logprobs }: Pick<ShownText, 'logprobs'>): unknown {
  return JSON.parse(`[${logprobs.toString().slice(0, -1)}]`);
}

/** Providers leave members out that this dialect always has. */
export function encodeToken(value: unknown): JsonRecord {
  const token = asRecord(value);
  const alternatives: readonly unknown[] = Array.isArray(token?.top_logprobs) ? token.top_logprobs : [];
  return { ...encodeAlternative(token), top_logprobs: alternatives.map(asRecord).map(encodeAlternative) };
}

function encodeAlternative(token: JsonRecord | undefined): JsonRecord {
  return {
    token: typeof token?.token === 'string' ? token.token : '',
    bytes: Array.isArray(token?.bytes) ? token.bytes : [],
    logprob: typeof token?.logprob === 'number' ? token.logprob : 0,
  };
}
