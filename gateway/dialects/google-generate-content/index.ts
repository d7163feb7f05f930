// Gemini's own: ai.google.dev/api/generate-content; the same at Vertex AI. No client speaks it.

import { UPSTREAM_DIALECTS } from '../../../core/catalog/dialects.ts';
import type { UpstreamDialect } from '../dialect.ts';
import { nameTools, type ToolNameRules } from '../tools/tool-names.ts';
import { decodeGeminiAnswer, decodeGeminiStream } from './decode-answer.ts';
import { encodeGeminiRequest, stopsMax } from './encode-request.ts';
import { readGoogleError } from './error-body.ts';
import { lostAt } from './lost.ts';
import { traitsOf } from './model-traits.ts';

/** Newer models take longer names; what is longer is shortened for all alike. */
const toolNameRules: ToolNameRules = {
  lengthMax: 64,
  hasNamespaces: false,
  hasCustom: false,
  letterFirst: true,
};

const facts = UPSTREAM_DIALECTS['google-generate-content'];

export const googleGenerateContent: UpstreamDialect = {
  name: 'google-generate-content',
  path: facts.path,
  upstreamHeaders: facts.headers,
  readError: readGoogleError,
  asUpstream: {
    open(conversation, target) {
      const names = nameTools(conversation, toolNameRules);
      const { stop = [] } = conversation.sampling;
      const reading = { names, origin: target.origin, choices: conversation.choices };
      return {
        body: encodeGeminiRequest(conversation, target, names, traitsOf(target.upstreamModel)),
        ...(stop.length > stopsMax ? { stopsLeft: stop } : {}),
        decodeAnswer: (body) => decodeGeminiAnswer(body, reading),
        streamDecoder: () => decodeGeminiStream(reading),
      };
    },
    lost: lostAt,
    countingMembers: new Set(['contents', 'systemInstruction', 'tools', 'generationConfig']),
    countMember: 'totalTokens',
  },
  sampleStream: [
    { content: { role: 'model', parts: [{ text: 'All is ' }] }, index: 0 },
    { content: { role: 'model', parts: [{ text: 'well.' }] }, index: 0 },
    { finishReason: 'STOP', index: 0 },
  ].map((candidate) => `data: ${JSON.stringify({ candidates: [candidate] })}\n\n`),
};
