// What does the Gemini API want in a body that its dialect has elsewhere? A request whose tokens are counted as a member, with its model in it.
// https://ai.google.dev/api/tokens

import { type BodyFor, withBodyMembers } from '../body.ts';
import { modelPath } from './address.ts';

export const geminiBody: BodyFor = ({ operation, model }, body) =>
  operation === 'count-tokens'
    ? [
        Buffer.from('{"generateContentRequest":'),
        ...withBodyMembers(body, [], { model: modelPath(model) }),
        Buffer.from('}'),
      ]
    : body;
