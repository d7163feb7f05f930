// Converse: Amazon Bedrock API reference, "Converse" and "ConverseStream". Spoken by upstreams only.

import { UPSTREAM_DIALECTS } from '../../../core/catalog/dialects.ts';
import { readErrorBody } from '../answer/read-error.ts';
import { answerToolOf } from '../anthropic/answer-tool.ts';
import type { UpstreamDialect } from '../dialect.ts';
import { nameTools, type ToolNameRules } from '../tools/tool-names.ts';
import { decodeConverseAnswer } from './decode-answer.ts';
import { decodeConverseStream } from './decode-stream.ts';
import { encodeConverseRequest } from './encode-request.ts';
import { lostAtConverse } from './lost.ts';
import { converseTraitsOf } from './model-traits.ts';

const toolNameRules: ToolNameRules = { lengthMax: 64, hasNamespaces: false, hasCustom: false };

const facts = UPSTREAM_DIALECTS['bedrock-converse'];

export const bedrockConverse: UpstreamDialect = {
  name: 'bedrock-converse',
  path: facts.path,
  upstreamHeaders: facts.headers,
  readError: readErrorBody,
  asUpstream: {
    open(conversation, target) {
      const names = nameTools(conversation, toolNameRules);
      const answerTool = answerToolOf(conversation, converseTraitsOf(target.upstreamModel), names);
      const reading = { names, origin: target.origin, answerTool };
      return {
        body: encodeConverseRequest(conversation, target, names, answerTool),
        decodeAnswer: (body) => decodeConverseAnswer(body, reading),
        streamDecoder: () => decodeConverseStream(reading),
      };
    },
    refusesBlankText: true,
    lost: lostAtConverse,
  },
  sampleStream: [
    event('messageStart', { role: 'assistant' }) +
      event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'All ' } }),
    event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'is well.' } }),
    event('contentBlockStop', { contentBlockIndex: 0 }) +
      event('messageStop', { stopReason: 'end_turn' }) +
      event('metadata', { usage: { inputTokens: 1, outputTokens: 3, totalTokens: 4 } }),
  ],
};

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
