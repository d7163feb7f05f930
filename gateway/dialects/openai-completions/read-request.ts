// Is this a text completion request, inside the bounds of the service's specification?

import type { RequestBody } from '../../json/request-body.ts';
import type { RequestFacts } from '../dialect.ts';
import {
  checkParameters,
  invalidParameter,
  outputTokensMax,
  type ParameterTable,
  readStreamOptions,
} from '../request/parameter-rules.ts';
import type { DefaultMember } from '../request/target-edits.ts';

const outputTokensDefault = 16;

/** The specification's defaults, sent explicitly: an upstream's own may differ. */
export const completionDefaults: readonly DefaultMember[] = [
  ['max_tokens', String(outputTokensDefault)],
  ['temperature', '1'],
  ['top_p', '1'],
  ['n', '1'],
  ['presence_penalty', '0'],
  ['frequency_penalty', '0'],
];

const completionParameters: ParameterTable = {
  model: { rule: { kind: 'name' }, isRequired: true },
  prompt: { rule: { kind: 'texts', itemsMin: 1 }, isRequired: true, isLong: true },
  max_tokens: { rule: { kind: 'integer', min: 1 } },
  temperature: { rule: { kind: 'number', min: 0, max: 2 } },
  top_p: { rule: { kind: 'number', min: 0, max: 1 } },
  n: { rule: { kind: 'integer', min: 1, max: 128 } },
  stream: { rule: { kind: 'boolean' } },
  stream_options: { rule: { kind: 'object' } },
  stop: { rule: { kind: 'texts', itemsMin: 0, itemsMax: 4 } },
  presence_penalty: { rule: { kind: 'number', min: -2, max: 2 } },
  frequency_penalty: { rule: { kind: 'number', min: -2, max: 2 } },
  best_of: { rule: { kind: 'integer', min: 0, max: 20 } },
  echo: { rule: { kind: 'boolean' } },
  suffix: { rule: { kind: 'string' }, isLarge: true },
  logprobs: { rule: { kind: 'integer', min: 0, max: 5 } },
  logit_bias: { rule: { kind: 'numbers-by-name', min: -100, max: 100 } },
  seed: { rule: { kind: 'integer' } },
  user: { rule: { kind: 'string' } },
};

/** Whether the gateway knows a top-level member of this name. */
export function isCompletionParameter(name: string): boolean {
  return Object.hasOwn(completionParameters, name);
}

/** @throws {GatewayError} `invalid_parameter`, naming the parameter. */
export function readCompletionRequest(body: RequestBody): RequestFacts {
  return readCompletion(body).facts;
}

export interface CompletionRequest {
  readonly facts: RequestFacts;
  readonly prompts: readonly string[];
  readonly n: number;
  readonly values: ReadonlyMap<string, unknown>;
}

export function readCompletion(body: RequestBody): CompletionRequest {
  const values = checkParameters(body, completionParameters);
  const prompt = values.get('prompt');
  const prompts = Array.isArray(prompt) ? prompt.map(String) : [String(prompt)];
  const n = Number(values.get('n') ?? 1);
  const isStream = values.get('stream') === true;
  const wantsUsage = readStreamOptions(values.get('stream_options'), isStream);
  const bestOf = readBestOf(values, n, isStream);
  return {
    facts: {
      model: String(values.get('model')),
      isStream,
      wantsUsage,
      choices: prompts.length * n,
      ...(bestOf === undefined ? {} : { generated: prompts.length * bestOf }),
      ...outputTokensMax(values.get('max_tokens')),
      outputTokensDefault,
    },
    prompts,
    n,
    values,
  };
}

function readBestOf(values: ReadonlyMap<string, unknown>, n: number, isStream: boolean): number | undefined {
  const bestOf = values.get('best_of');
  if (typeof bestOf !== 'number') return undefined;
  if (bestOf < n) invalidParameter('best_of', `must be at least 'n' (${n}), not ${bestOf}`);
  if (isStream && bestOf > 1) invalidParameter('best_of', 'cannot be used in a stream');
  return bestOf;
}
