// How does a model of Google answer an accepted request? As its directives say, faults included, paced and logged as the simulator's
// own models are.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadRequest } from '../checks.ts';
import { type Call, type Ledger, makeLedger } from '../counts.ts';
import { redactHeaders } from '../credentials.ts';
import type { WireError } from '../dialect.ts';
import type { Directives } from '../directives.ts';
import { answerAll } from '../mind.ts';
import { perform } from '../perform.ts';
import type { Answer } from '../prompt.ts';
import { ClientGone, makeReply } from '../reply.ts';
import { makeScripts } from '../scripts.ts';
import type { Seal } from '../seal.ts';
import { framesOf, plainAnswer, type Voice } from './gemini-answer.ts';
import type { CallRules } from './gemini-contents.ts';
import { type GeminiModel, modelOf, readGeminiRequest } from './gemini-request.ts';
import { googleError, retryInfo, wordOf } from './google-error.ts';

interface Generation {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Record<string, unknown>;
  /** As the path names it. */
  readonly model: string;
  readonly isStream: boolean;
  /** It wants the number of its tokens alone. */
  readonly isCount?: boolean;
  /** Whether calls carry ids; absent: from the third generation on. */
  readonly ids?: 'given' | 'refused' | undefined;
  readonly directives: Directives;
}

export interface GeminiModels {
  readonly ledger: Ledger;
  generate(asked: Generation): Promise<void>;
}

export function startGeminiModels(host: 'gemini' | 'vertex', seal: Seal): GeminiModels {
  const ledger = makeLedger(10_000);
  const scripts = makeScripts();
  return {
    ledger,
    async generate({ incoming, response, body, model, isStream, isCount, ids, directives }) {
      const call = openCall(ledger, incoming, body, model, isStream);
      const reply = makeReply(response);
      const shape = modelOf(model);
      const isThird = shape.generation >= 3;
      const known = ids ?? idsOf(shape.generation);
      const voice = {
        model,
        id: `response-${call.sequence}`,
        signs: isThird,
        givesIds: known !== 'refused',
        seal,
      };
      try {
        const { answer, more } = understand(body, shape, host, known, seal, directives);
        const speaking: Voice = { ...voice, ...more };
        const { retryAfterS, ...rest } = directives;
        await perform({
          call,
          reply,
          dialect: dialectFor(retryAfterS),
          exchange: {
            prompts: [],
            isStream,
            plain: () => (isCount ? { totalTokens: answer.usage.input } : plainAnswer(answer, speaking)),
            stream: () => framesOf(answer, speaking),
          },
          answer,
          stamp: { id: voice.id, createdS: 0, model, requestId: '' },
          directives: { ...rest, hasCrlf: true },
          fault: scripts.dueFault(model, directives),
          end: (ending) => ledger.end(call, ending),
        });
      } catch (error) {
        if (error instanceof ClientGone) return ledger.end(call, 'client-gone');
        if (!(error instanceof BadRequest)) throw error;
        ledger.end(call, 'rejected');
        const field = error.path.join('.');
        const violation = {
          '@type': badRequestType,
          fieldViolations: [{ field, description: error.message }],
        };
        reply.head(400, { 'content-type': 'application/json; charset=UTF-8' });
        reply.end(
          JSON.stringify(
            googleError({
              status: 400,
              word: 'INVALID_ARGUMENT',
              message: error.message,
              details: [violation],
            }),
          ),
        );
      }
    },
  };
}

/** From the third generation on they are given, and later wanted back. */
function idsOf(generation: number): CallRules['ids'] {
  if (generation >= 3.5) return 'given';
  return generation >= 3 ? 'taken' : 'refused';
}

const badRequestType = 'type.googleapis.com/google.rpc.BadRequest';

function openCall(
  ledger: Ledger,
  { method = '', url = '', headers }: IncomingMessage,
  body: unknown,
  model: string,
  isStream: boolean,
): Call {
  const [endpoint = '', query = ''] = url.split('?');
  return ledger.open({
    method,
    endpoint,
    query,
    model,
    baseModel: model,
    isStream,
    body,
    headers: redactHeaders(headers),
    credentialSha256: null,
    keyId: 'none',
  });
}

/** Throws BadRequest. */
function understand(
  body: Record<string, unknown>,
  model: GeminiModel,
  host: 'gemini' | 'vertex',
  ids: CallRules['ids'],
  seal: Seal,
  directives: Directives,
): { readonly answer: Answer; readonly more: Pick<Voice, 'showsThoughts' | 'hasLogprobs'> } {
  const isThird = model.generation >= 3;
  const rules = {
    needsSignatures: isThird,
    ids,
    takesResultMedia: isThird,
    takesAddresses: host === 'vertex',
    seal,
  };
  const { prompt, showsThoughts, hasLogprobs } = readGeminiRequest(body, model, host, rules);
  // It tells of no writes to a cache.
  const { cacheWriteTokens: _, ...known } = directives;
  return { answer: answerAll([prompt], known), more: { showsThoughts, hasLogprobs } };
}

/** Of the errors that a script wants. Google says in the body how long to wait. */
function dialectFor(retryAfterS: number | undefined) {
  const details = retryInfo(retryAfterS);
  const errorBody = ({ status, message }: WireError): unknown =>
    googleError({ status, word: wordOf(status), message, details });
  return {
    errorBody,
    errorFrames: (error: WireError) => [
      { data: JSON.stringify(errorBody(error)), outputTokens: 0, reasoningTokens: 0, phase: 'last' as const },
    ],
    responseHeaders: () => ({}),
  };
}
