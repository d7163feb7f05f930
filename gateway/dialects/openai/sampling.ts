// How are the tokens of an answer chosen? The members that chat completions and completions share.

import { isRecord } from '../../json/record.ts';
import type { Sampling } from '../conversation.ts';
import { invalidParameter, type ParameterValues } from '../request/parameter-rules.ts';
import type { NoteAsk } from '../request/read-values.ts';

/**
 * @param logitBias The value of `logit_bias`, however large.
 * @throws {GatewayError} `invalid_parameter`.
 */
export function decodeOpenAiSampling(values: ParameterValues, logitBias: unknown, note: NoteAsk): Sampling {
  const temperature = numberOf(values, 'temperature');
  const topP = numberOf(values, 'top_p');
  const seed = numberOf(values, 'seed');
  const presence = numberOf(values, 'presence_penalty') ?? 0;
  const frequency = numberOf(values, 'frequency_penalty') ?? 0;
  const bias = decodeLogitBias(logitBias);
  const stop = decodeStop(values.get('stop'));

  if (temperature !== undefined && temperature !== 1) {
    note('temperature', 'temperature');
    if (temperature > 1) note('temperature-above-1', 'temperature');
  }
  if (topP !== undefined && topP !== 1) {
    note('top-p', 'top_p');
    if (temperature !== undefined) note('top-p-beside-temperature', 'top_p');
  }
  if (presence !== 0) note('penalties', 'presence_penalty');
  if (frequency !== 0) note('penalties', 'frequency_penalty');
  if (bias) note('logit-bias', 'logit_bias');
  if (seed !== undefined) note('seed', 'seed');
  if (stop.length > 0) note('stop', 'stop');
  if (stop.some((text) => text.trim() === '')) note('blank-stop', 'stop');

  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    // Zero is what every upstream does unasked, and some models refuse the member.
    ...(presence === 0 ? {} : { presencePenalty: presence }),
    ...(frequency === 0 ? {} : { frequencyPenalty: frequency }),
    ...(seed === undefined ? {} : { seed }),
    ...(bias ? { logitBias: bias } : {}),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

/** Sampling in the words of both dialects, but for the stop sequences; undefined if the caller did not say. */
export function encodeOpenAiSampling(sampling: Sampling): Record<string, unknown> {
  return {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    logit_bias: sampling.logitBias,
    seed: sampling.seed,
  };
}

/** Most stop sequences that upstreams take; if there are more, the gateway cuts at all of them. */
export const stopsMax = 4;

function numberOf(values: ParameterValues, name: string): number | undefined {
  const value = values.get(name);
  return typeof value === 'number' ? value : undefined;
}

function decodeStop(value: unknown): readonly string[] {
  const stops = Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : [];
  // An empty text would stop before the first token, which is never meant.
  return stops.filter((stop) => stop !== '');
}

function decodeLogitBias(value: unknown): Readonly<Record<string, number>> | undefined {
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).map(([token, bias]) => [token, biasOf(token, bias)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function biasOf(token: string, bias: unknown): number {
  if (typeof bias === 'number' && bias >= -100 && bias <= 100) return bias;
  return invalidParameter(
    'logit_bias',
    `needs a number from -100 to 100 for the token '${token.slice(0, 64)}'`,
  );
}
