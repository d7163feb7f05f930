// The two sides of one dialect, back to back: what one writes the other reads.

import { findImpossible } from '../../../../gateway/dialects/compatibility.ts';
import type { Conversation } from '../../../../gateway/dialects/conversation.ts';
import type {
  Dialect,
  StreamEncoder,
  Translation,
  UpstreamCall,
  UpstreamTarget,
} from '../../../../gateway/dialects/dialect.ts';
import { openCall } from '../../../../gateway/dialects/translate.ts';
import { RequestBody } from '../../../../gateway/json/request-body.ts';
import { conversationOf } from '../support/make-conversation.ts';

const head = { id: 'abc123', createdAt: 1_700_000_000, model: 'm', inputEstimate: 7 };

export const target: UpstreamTarget = {
  upstreamModel: 'claude-sonnet-4-5',
  isStream: true,
  parameters: {},
  origin: '0123456789abcdef',
};

/** A request of this dialect, as a client of it would send it, read by us. */
export function translateOwn(dialect: Dialect, body: Buffer): Translation {
  const request = new RequestBody([body]);
  dialect.readRequest(request);
  return dialect.translate(request, { upstreams: new Set(), header: () => undefined });
}

/** An upstream call in this dialect, and the client of it that gets what the upstream answers. */
export function backToBack(
  dialect: Dialect,
  change: Partial<Conversation> = {},
): { readonly call: UpstreamCall; readonly translation: Translation; readonly encoder: () => StreamEncoder } {
  const turns = [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }] as const;
  const call = openCall(dialect, conversationOf({ turns, maxOutputTokens: 4096, ...change }), target);
  const translation = translateOwn(dialect, call.body);
  return { call, translation, encoder: () => translation.streamEncoder(head) };
}

/** Whether a conversation that this client dialect has read can be sent in that upstream dialect. */
export function canCarry(client: Dialect, upstream: Dialect, conversation: Conversation): boolean {
  return findImpossible(client.name, upstream.name, conversation) === undefined;
}
