// Which dialects stand behind the words of the API, and which upstream dialect can serve which client dialect?

import type { DialectName } from '../../gateway/contract/routing-table.ts';
import type { Api } from '../resources/fields.ts';

export const DIALECT_OF: Readonly<Record<Api, DialectName>> = {
  ChatCompletions: 'openai-chat',
  Messages: 'anthropic-messages',
  Responses: 'openai-responses',
  Completions: 'openai-completions',
};

/** Best first: chat carries most. The order of every list of dialects in the table. */
export const API_ORDER: readonly Api[] = ['ChatCompletions', 'Responses', 'Messages', 'Completions'];

/** Upstream dialects that serve a client dialect, the own one first; empty: not offered in this version. */
export const SERVED_BY: Readonly<Record<Api, readonly Api[]>> = {
  ChatCompletions: ['ChatCompletions'],
  Completions: ['Completions', 'ChatCompletions'],
  Responses: [],
  Messages: [],
};

export function inOrder(apis: readonly Api[]): Api[] {
  return API_ORDER.filter((api) => apis.includes(api));
}
