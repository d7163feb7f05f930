// A conversation as a Converse request. The model is in the address, and so is whether it streams.

import { hash } from 'node:crypto';
import { asRecord } from '../../json/record.ts';
import { writeJson } from '../../json/write-json.ts';
import { answerInstruction, isAnswerForced } from '../anthropic/answer-tool.ts';
import { impossible } from '../compatibility.ts';
import type { Conversation, PartOf, Sampling } from '../conversation.ts';
import type { UpstreamTarget } from '../dialect.ts';
import type { ToolNames } from '../tools/tool-names.ts';
import { cachePoint, keepCachePoints } from './cache-points.ts';
import { documentFormatOf } from './encode-media.ts';
import { encodeReasoning } from './encode-reasoning.ts';
import { encodeConverseTools } from './encode-tools.ts';
import { type Block, encodeConverseTurns } from './encode-turns.ts';
import { type ConverseTraits, converseTraitsOf } from './model-traits.ts';

/**
 * What the dialect has no word for is left out: the capabilities table has decided about it.
 *
 * @throws {GatewayError} `unsupported_parameter` for a file of a type that Converse does not know.
 */
export function encodeConverseRequest(
  conversation: Conversation,
  target: UpstreamTarget,
  names: ToolNames,
  answerTool: string | undefined,
): Buffer {
  checkFiles(conversation);
  const { parameters } = target;
  const traits = converseTraitsOf(target.upstreamModel);
  const reasoning = encodeReasoning(conversation, target, traits, isAnswerForced(conversation, traits));
  const { tools, toolChoice, fields } = encodeConverseTools(conversation, names, answerTool, traits);
  const mayPrefill = traits.takesPrefill && answerTool === undefined && reasoning.takesSampling;
  const messages = encodeConverseTurns(conversation, names, traits, mayPrefill);
  const system = encodeSystem(conversation, traits, answerTool);
  const [keptTools = [], keptSystem = [], ...contents] = keepCachePoints([
    tools,
    system,
    ...messages.map(({ content }) => content),
  ]);
  const inference = {
    ...asRecord(parameters.inferenceConfig),
    maxTokens: reasoning.maxTokens,
    ...encodeSampling(conversation.sampling, reasoning.takesSampling),
  };
  const stops = (inference as { stopSequences?: readonly string[] }).stopSequences ?? [];
  const own = {
    ...asRecord(parameters.additionalModelRequestFields),
    ...reasoning.fields,
    ...encodeTopK(conversation.sampling, traits, reasoning.takesSampling),
    ...fields,
  };
  const requestMetadata = { ...asRecord(parameters.requestMetadata), ...encodeMetadata(conversation) };
  const { serviceTier } = conversation;
  return Buffer.from(
    writeJson({
      ...parameters,
      messages: messages.map(({ role }, at) => ({ role, content: contents[at] })),
      ...(keptSystem.length > 0 ? { system: keptSystem } : {}),
      ...orAbsent('inferenceConfig', inference),
      ...(keptTools.length > 0
        ? { toolConfig: { tools: keptTools, ...(toolChoice ? { toolChoice } : {}) } }
        : {}),
      ...orAbsent('additionalModelRequestFields', own),
      ...(stops.length > 0 && traits.maker === 'claude' ? stopName : {}),
      ...orAbsent('requestMetadata', requestMetadata),
      ...(serviceTier !== undefined && tiers.has(serviceTier) ? { serviceTier: { type: serviceTier } } : {}),
    }),
  );
}

/** Which of the stop sequences was met. */
const stopName = { additionalModelResponseFieldPaths: ['/stop_sequence'] };

const tiers: ReadonlySet<string> = new Set(['default', 'flex', 'priority']);

function orAbsent(name: string, members: Block): Block {
  return Object.values(members).every((value) => value === undefined) ? {} : { [name]: members };
}

function checkFiles({ turns, asks }: Conversation): void {
  const ask = asks.find(({ feature }) => feature === 'file-of-other-type');
  if (!ask) return;
  const isUnknown = turns.some(({ parts }) =>
    parts.some(
      (part) =>
        part.type === 'file' &&
        part.source.kind === 'base64' &&
        documentFormatOf(part.source.mediaType) === undefined,
    ),
  );
  if (isUnknown) throw impossible(ask, 'bedrock-converse');
}

function encodeSystem(
  { system, toolChoice, tools, turns }: Conversation,
  { takesCachePoints, takesForcedCalls }: ConverseTraits,
  answerTool: string | undefined,
): readonly Block[] {
  const texts = system.filter(
    (part): part is PartOf<'text' | 'refusal'> => 'text' in part && part.type !== 'thinking',
  );
  const shown = texts
    .filter(({ text }) => text.trim() !== '')
    .flatMap(({ text, cacheHint }): readonly Block[] =>
      cacheHint !== undefined && takesCachePoints ? [{ text }, cachePoint(cacheHint)] : [{ text }],
    );
  if (answerTool !== undefined)
    return takesForcedCalls ? shown : [...shown, { text: answerInstruction(answerTool) }];
  const hasCalls = turns.some(({ parts }) => parts.some(({ type }) => type === 'tool-call'));
  const mayCallNone = toolChoice?.type === 'none' && tools.length > 0 && hasCalls;
  return mayCallNone ? [...shown, { text: 'Call no tool in this answer.' }] : shown;
}

function encodeSampling({ temperature, topP, stop = [] }: Sampling, takesSampling: boolean): Block {
  const stops = stop.filter((each) => each.trim() !== '');
  return {
    ...(takesSampling && temperature !== undefined ? { temperature: Math.min(1, temperature) } : {}),
    // Some models take one of the two only.
    ...(takesSampling && topP !== undefined && temperature === undefined ? { topP } : {}),
    ...(stops.length > 0 ? { stopSequences: stops } : {}),
  };
}

function encodeTopK({ topK }: Sampling, { maker }: ConverseTraits, takesSampling: boolean): Block {
  if (topK === undefined || !takesSampling) return {};
  if (maker === 'claude') return { top_k: topK };
  return maker === 'nova' || maker === 'nova-2' ? { inferenceConfig: { topK } } : {};
}

const takenText = /^[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}$/;
const pairsMax = 16;

/** Pairs that fit; the end user by a hash where the name does not. */
function encodeMetadata({ metadata = {}, endUser }: Conversation): Block {
  const user = endUser !== undefined && (takenText.test(endUser) ? endUser : hash('sha256', endUser, 'hex'));
  const pairs = Object.entries(metadata).filter(
    ([name, value]) =>
      name !== '' && takenText.test(name) && typeof value === 'string' && takenText.test(value),
  );
  return Object.fromEntries([...(user ? [['user', user]] : []), ...pairs].slice(0, pairsMax));
}
