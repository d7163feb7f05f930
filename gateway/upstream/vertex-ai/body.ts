// What does Vertex AI want in a body that its dialect has elsewhere? Claude's version, and no model, which is in the path. In the OpenAI form
// the vendor comes before the model.

import type { UpstreamAsk } from '../address.ts';
import { type BodyFor, withBodyMembers } from '../body.ts';

/** https://docs.claude.com/en/api/claude-on-vertex-ai */
const version = { anthropic_version: 'vertex-2023-10-16' };

export const vertexBody: BodyFor = (ask, body) => {
  switch (ask.dialect) {
    case 'anthropic-messages':
      return ask.operation === 'count-tokens'
        ? withBodyMembers(body, [], { ...version, model: countedAs(ask) })
        : withBodyMembers(body, ['model'], version);
    case 'openai-chat':
      return ask.model.includes('/') ? body : withBodyMembers(body, [], { model: `google/${ask.model}` });
    default:
      return body;
  }
};

/** Counting is the same for all versions of a model, and takes none. */
function countedAs({ model }: UpstreamAsk): string {
  const [name = model] = model.replace(/^publishers\/anthropic\/models\//, '').split('@');
  return name;
}
