// A responses request for upstreams of other dialects, with the way back.

import type { RequestBody } from '../../json/request-body.ts';
import type { Translation } from '../dialect.ts';
import { decodeResponsesRequest } from './decode-request.ts';
import { encodeResponsesAnswer } from './encode-answer.ts';
import { encodeResponsesStream } from './encode-stream.ts';
import { settingsOf } from './response-object.ts';

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function translateResponses(body: RequestBody): Translation {
  const { conversation, clientTools, read } = decodeResponsesRequest(body);
  const shape = {
    settings: settingsOf(read),
    clientTools,
    showsRefusals: conversation.output.type !== 'text',
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
