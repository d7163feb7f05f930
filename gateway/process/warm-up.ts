// What has a process done once before its first caller? Read and translated one request of each dialect: what V8 sees for the first time
// is slow, and a pod that has just become ready gets its share of the load at once.

import { type DialectName, dialectNameSchema } from '../../core/contract/routing-table.ts';
import { findDialect } from '../dialects/registry.ts';
import { parseBody } from '../endpoints/parse-body.ts';

const message = { role: 'user', content: 'x' };

const messages = [message];

const samples: Readonly<Record<DialectName, object>> = {
  'openai-chat': { messages },
  'openai-completions': { prompt: 'x' },
  'openai-responses': { input: messages },
  'anthropic-messages': { messages, max_tokens: 1 },
};

export function warmUp(): void {
  for (const name of dialectNameSchema.options) {
    const dialect = findDialect(name);
    const sample = { model: 'm', stream: true, ...samples[name] };
    const body = parseBody([Buffer.from(JSON.stringify(sample))]);
    dialect.readRequest(body);
    dialect.translate(body, { upstreams: new Set(dialectNameSchema.options), header: () => undefined });
  }
}
