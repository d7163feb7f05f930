// A responses request for upstreams of other dialects, with the way back.

import type { RequestBody } from '../../json/request-body.ts';
import type { Conversation, Part } from '../conversation.ts';
import type { Translation } from '../dialect.ts';
import { decodeResponsesRequest } from './decode-request.ts';
import { encodeResponsesAnswer } from './encode-answer.ts';
import { encodeResponsesStream } from './encode-stream.ts';
import { settingsOf } from './response-object.ts';

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function translateResponses(body: RequestBody): Translation {
  const { facts, conversation, read } = decodeResponsesRequest(body);
  const shape = {
    model: facts.model,
    settings: settingsOf(read),
    showsRefusals: conversation.output.type !== 'text',
    inputLength: textLengthOf(conversation),
  };
  return {
    conversations: [conversation],
    encodeAnswer([answer], head) {
      const empty = { id: '', model: '', createdAt: 0, choices: [] };
      return encodeResponsesAnswer(answer ?? empty, head, shape);
    },
    streamEncoder: (head) => encodeResponsesStream(head, shape),
  };
}

function textLengthOf({ system, turns }: Conversation): number {
  const lengthOf = (parts: readonly Part[]): number =>
    parts.reduce((sum, part) => {
      if (part.type === 'tool-result') return sum + lengthOf(part.parts);
      if (part.type === 'tool-call') return sum + part.name.length + part.input.length;
      return sum + ('text' in part ? part.text.length : 0);
    }, 0);
  return turns.reduce((sum, { parts }) => sum + lengthOf(parts), lengthOf(system));
}
