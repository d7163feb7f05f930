// What does a request to generate content ask for? As strict as Google is, so that a bad translation is seen.

import type { Bag } from '../checks.ts';
import { bag, boolean, integer, isBag, list, matching, number, oneOf, string } from '../checks.ts';
import type { OutputForm, Prompt, Tool, ToolChoice } from '../prompt.ts';
import { countTokens } from '../tokens.ts';
import { type CallRules, invalid, readContents } from './gemini-contents.ts';
import { checkMembers } from './gemini-members.ts';

export type GeminiModel = {
  name: string;
  /** `gemini-3.8-flash`: 3.8. */
  generation: number;
  isPro: boolean;
};

export function modelOf(name: string): GeminiModel {
  const [, generation] = /gemini-(\d+(?:\.\d+)?)/.exec(name) ?? [];
  return {
    name,
    generation: generation === undefined ? 99 : Number(generation),
    isPro: name.includes('pro'),
  };
}

type GeminiRequest = { prompt: Prompt; showsThoughts: boolean; hasLogprobs: boolean };

/** Throws BadRequest. */
export function readGeminiRequest(
  body: Bag,
  model: GeminiModel,
  host: 'gemini' | 'vertex',
  rules: CallRules,
): GeminiRequest {
  checkMembers(body, host);
  const contents = readContents(body.contents, rules);
  const config = body.generationConfig === undefined ? {} : bag(body.generationConfig, ['generationConfig']);
  const tools = readTools(body.tools, model);
  const thinking = readThinking(config, model);
  const output = readOutput(config);
  if (output.kind !== 'text' && tools.functions.length > 0 && model.generation < 3)
    throw invalid([], "Function calling with a response mime type: 'application/json' is unsupported");
  if (
    model.generation === 2.5 &&
    (config.presencePenalty !== undefined || config.frequencyPenalty !== undefined)
  )
    throw invalid([], 'Penalty is not enabled for this model');
  number(config.temperature, ['generationConfig', 'temperature'], { min: 0, max: 2 });
  number(config.topP, ['generationConfig', 'topP'], { min: 0, max: 1 });
  integer(config.topK, ['generationConfig', 'topK'], { min: 1 });
  integer(config.seed, ['generationConfig', 'seed']);
  const tokensMax = integer(config.maxOutputTokens, ['generationConfig', 'maxOutputTokens'], { min: 1 });
  const stops =
    config.stopSequences === undefined ? [] : list(config.stopSequences, ['stopSequences'], { max: 5 });
  const system = body.systemInstruction;
  const systemText = isBag(system) ? JSON.stringify(system) : '';
  return {
    prompt: {
      model: model.name,
      seed: `${model.name} ${JSON.stringify(body.contents)}`,
      lastUserText: contents.lastUserText,
      ...(contents.toolResult === undefined ? {} : { toolResult: contents.toolResult }),
      calledTools: contents.calledTools,
      ...readChoice(body.toolConfig, tools.functions),
      isParallel: true,
      output,
      reasoningTokens: thinking.tokens,
      ...(tokensMax === undefined ? {} : { tokensMax }),
      sendsHalfCalls: false,
      stops: stops.map((stop, at) => string(stop, ['stopSequences', at])),
      samples: integer(config.candidateCount, ['candidateCount'], { min: 1, max: 8 }) ?? 1,
      inputTokens: contents.tokens + countTokens(systemText) + tools.tokens,
    },
    showsThoughts: thinking.isShown,
    hasLogprobs: boolean(config.responseLogprobs, ['responseLogprobs']) ?? false,
  };
}

function readTools(value: unknown, { generation }: GeminiModel): { functions: Tool[]; tokens: number } {
  if (value === undefined) return { functions: [], tokens: 0 };
  const tools = list(value, ['tools']).map((tool, at) => bag(tool, ['tools', at]));
  const declared = tools.flatMap(({ functionDeclarations: each }) =>
    each === undefined ? [] : list(each, ['tools'], { min: 1, max: 512 }),
  );
  const hasOther = tools.some(
    ({ googleSearch, codeExecution }) => googleSearch !== undefined || codeExecution !== undefined,
  );
  if (hasOther && declared.length > 0 && generation < 3)
    throw invalid(['tools'], 'Tool use with function calling is unsupported');
  const functions = declared.map((value, at): Tool => {
    const path = ['tools', 'function_declarations', at];
    const { name, description, parameters, parametersJsonSchema } = bag(value, path);
    if (description !== undefined) string(description, path);
    if (parametersJsonSchema !== undefined && generation < 2.5)
      throw invalid(path, 'parameters_json_schema is not supported by this model.');
    const schema = parametersJsonSchema ?? parameters;
    if (isBag(schema) && isBag(schema.properties) && Object.keys(schema.properties).length === 0)
      throw invalid(path, 'parameters.properties: should be non-empty for OBJECT type');
    return {
      kind: 'function',
      name: matching(name, [...path, 'name'], /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/),
      ...(schema === undefined ? {} : { schema }),
    };
  });
  const names = new Set(functions.map(({ name }) => name));
  if (names.size < functions.length) throw invalid(['tools'], 'Duplicate function declaration found.');
  return { functions, tokens: countTokens(JSON.stringify(value)) };
}

function readChoice(value: unknown, tools: Tool[]): { tools: Tool[]; toolChoice: ToolChoice } {
  const config = isBag(value) && isBag(value.functionCallingConfig) ? value.functionCallingConfig : {};
  const mode =
    config.mode === undefined ? 'AUTO' : oneOf(config.mode, ['mode'], ['AUTO', 'ANY', 'NONE', 'VALIDATED']);
  const allowed = config.allowedFunctionNames;
  if (allowed === undefined) return { tools, toolChoice: { kind: choiceOf[mode] } };
  if (mode !== 'ANY' && mode !== 'VALIDATED')
    throw invalid(
      ['toolConfig'],
      'allowed_function_names should only be set when the mode is ANY or VALIDATED.',
    );
  const names = list(allowed, ['allowedFunctionNames'], { min: 1 });
  const chosen = tools.filter(({ name }) => names.includes(name));
  if (chosen.length !== names.length)
    throw invalid(['toolConfig'], 'allowed_function_names names an unknown function.');
  return { tools: chosen, toolChoice: { kind: choiceOf[mode] } };
}

const choiceOf = { AUTO: 'auto', VALIDATED: 'auto', ANY: 'required', NONE: 'none' } as const;

function readOutput(config: Bag): OutputForm {
  const { responseMimeType: type, responseSchema, responseJsonSchema } = config;
  const schema = responseJsonSchema ?? responseSchema;
  if (type === undefined || type === 'text/plain') {
    if (schema !== undefined) throw invalid([], 'response_schema is only supported with application/json.');
    return { kind: 'text' };
  }
  oneOf(type, ['responseMimeType'], ['application/json']);
  return schema === undefined ? { kind: 'json-object' } : { kind: 'json-schema', schema };
}

function readThinking(config: Bag, { generation, isPro }: GeminiModel): { tokens: number; isShown: boolean } {
  const always = generation >= 3 ? 4 : 0;
  if (config.thinkingConfig === undefined) return { tokens: always, isShown: false };
  const { includeThoughts, thinkingBudget, thinkingLevel } = bag(config.thinkingConfig, ['thinkingConfig']);
  const isShown = boolean(includeThoughts, ['includeThoughts']) ?? false;
  if (generation < 2.5) throw invalid([], 'Thinking is not supported by this model.');
  if (thinkingBudget !== undefined && thinkingLevel !== undefined)
    throw invalid([], 'You can only set only one of thinking budget and thinking level.');
  if (thinkingLevel !== undefined) {
    if (generation < 3) throw invalid([], 'Thinking level is not supported for this model.');
    return {
      tokens:
        tokensOf[oneOf(thinkingLevel, ['thinkingLevel'], ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'])],
      isShown,
    };
  }
  if (thinkingBudget === undefined) return { tokens: isShown ? Math.max(always, 8) : always, isShown };
  if (generation >= 3.5) throw invalid([], 'Thinking budget is not supported for this model.');
  const [min, max] = isPro ? [128, 32_768] : [0, 24_576];
  const budget = integer(thinkingBudget, ['thinkingBudget']) ?? 0;
  if (budget !== -1 && (budget < min || budget > max))
    throw invalid(
      [],
      `The thinking budget ${budget} is invalid. Please choose a value between ${min} and ${max}.`,
    );
  return { tokens: Math.min(budget, 16), isShown };
}

const tokensOf = { MINIMAL: 2, LOW: 4, MEDIUM: 8, HIGH: 16, XHIGH: 32 } as const;
