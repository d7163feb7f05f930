// What does the caller of a drill ask, or of a plan without a request? The least that a dialect takes. In drills as a stream: most calls
// are streams, and what can go wrong with a plain answer can go wrong with them.

import type { DialectName } from '../../core/contract/routing-table.ts';
import { RequestBody } from '../json/request-body.ts';

const question = 'Are you there?';
const messages = [{ role: 'user', content: question }];

const requests: Readonly<Record<DialectName, Readonly<Record<string, unknown>>>> = {
  'openai-chat': { messages },
  'openai-completions': { prompt: question },
  'openai-responses': { input: question },
  'anthropic-messages': { messages, max_tokens: 16 },
};

export function syntheticRequest(dialect: DialectName, model: string, stream = true): RequestBody {
  const body = new RequestBody([Buffer.from(JSON.stringify({ model, ...requests[dialect], stream }))]);
  body.parse();
  return body;
}
