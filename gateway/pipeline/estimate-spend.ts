// How many tokens may this request use, before anybody has counted? Reserved at its limits until it has ended.

import { estimateTokensOfLength } from '../dialects/answer/estimate-tokens.ts';
import type { RequestFacts, Translation } from '../dialects/dialect.ts';
import { saysBoundName } from '../dialects/request/chat-names.ts';
import { boundNames } from '../dialects/request/target-edits.ts';
import { mediaTexts } from '../json/media-texts.ts';
import { namesOutsideInput } from '../json/outside-input.ts';
import type { RequestBody } from '../json/request-body.ts';
import type { Plan } from '../route/plan.ts';
import { tokensOfPages } from './estimate-input.ts';

export interface SpendEstimate {
  /** Input, and the most that may be answered. */
  readonly tokens: number;
  /** The part that the caller itself sets: its input, and its bound of the answer. */
  readonly tokensMin: number;
  /** As often as it is sent. */
  readonly input: number;
  /**
   * What its input may come to, where a part of it lies elsewhere or in documents: each of so many calls takes as much of it as fits into
   * the model. Absent: `input`.
   */
  readonly inputMost?: { readonly tokens: number; readonly calls: number } | undefined;
  /** The largest output of all choices together, also of choices that the client does not get. */
  readonly output: number;
}

/** Where neither caller nor dialect nor route nor target bound an answer. Few are longer, and what they have beyond it is owed. */
const outputTokensGuess = 4_096;

export function estimateSpend(
  {
    outputTokensMax,
    hasNewerBoundOnly = false,
    outputTokensDefault,
    choices,
    generated = choices,
    hasStoredInput = false,
  }: Pick<
    RequestFacts,
    | 'outputTokensMax'
    | 'hasNewerBoundOnly'
    | 'outputTokensDefault'
    | 'choices'
    | 'generated'
    | 'hasStoredInput'
  >,
  body: Pick<RequestBody, 'bytes' | 'chunks'> & Partial<Pick<RequestBody, 'latin1' | 'mayNameOutside'>>,
  { route }: Pick<Plan, 'route'>,
  { inputTimes = 1 }: Pick<Translation, 'inputTimes'> = {},
): SpendEstimate {
  const { tokens, documentTokens } = sizesOf(body);
  const input = tokens * inputTimes;
  const isElsewhere =
    hasStoredInput || (body.mayNameOutside !== false && namesOutsideInput(body.chunks, body.latin1));
  const inputMost = isElsewhere ? Number.POSITIVE_INFINITY : input + documentTokens * inputTimes;
  const isBound = outputTokensMax !== undefined && !(hasNewerBoundOnly && mayPassOverNewer(route));
  const otherwise = isBound ? 0 : boundOf(route, outputTokensDefault);
  const output = Math.max(outputTokensMax ?? 0, otherwise) * generated;
  return {
    tokens: input + output,
    tokensMin: input + (outputTokensMax ?? 0) * generated,
    input,
    inputMost: inputMost > input ? { tokens: inputMost, calls: inputTimes } : undefined,
    output,
  };
}

/** Bound of an answer without one of the caller: that of the target with the largest default. */
function boundOf(route: Plan['route'], ofDialect: number | undefined): number {
  const { preset, isPreset } = presetsOf(route);
  return isPreset ? preset : Math.max(preset, ofDialect ?? route.entry.maxOutputTokens ?? outputTokensGuess);
}

interface Presets {
  /** The largest bound that a target sets; 0: none does. */
  readonly preset: number;
  /** Each of them sets one. */
  readonly isPreset: boolean;
}

function presetsOf({ targets }: Plan['route']): Presets {
  let presets = presetsOfRoutes.get(targets);
  if (presets === undefined) {
    const ofTargets = targets.map(({ entry: { parameters } }) =>
      Math.max(
        0,
        ...[...boundNames].map((name) => Number(parameters[name] ?? 0)).filter((bound) => bound > 0),
      ),
    );
    const preset = Math.max(0, ...ofTargets);
    presets = { preset, isPreset: preset > 0 && !ofTargets.includes(0) };
    presetsOfRoutes.set(targets, presets);
  }
  return presets;
}

/** Kept as long as the table view they belong to. */
const presetsOfRoutes = new WeakMap<Plan['route']['targets'], Presets>();

/** Whether one of the targets may know only the older name of the bound. Translated requests use the name that the target knows. */
function mayPassOverNewer({ targets }: Plan['route']): boolean {
  return targets.some(
    ({
      entry: { parameters },
      provider: {
        entry: { chatNames, dialects },
      },
    }) => dialects.includes('openai-chat') && !saysBoundName({ parameters, chatNames }),
  );
}

/** Below it there is no room for a picture. */
const mediaBodyBytesMin = 16 * 1024;
/** The most that a provider counts for one picture. */
const mediaTokensMax = 5_000;

/** About four bytes a token. Pictures are counted as what they are: their base64 would be a hundred times too many. */
export function estimateInputOfBody(body: Pick<RequestBody, 'bytes' | 'chunks'>): number {
  return sizesOf(body).tokens;
}

function sizesOf({ bytes, chunks }: Pick<RequestBody, 'bytes' | 'chunks'>): {
  readonly tokens: number;
  /** What documents may have beyond what they are counted as: a page that was scanned is large, and one of words small. */
  readonly documentTokens: number;
} {
  if (bytes < mediaBodyBytesMin) return { tokens: estimateTokensOfLength(bytes), documentTokens: 0 };
  let textBytes = bytes;
  let mediaTokens = 0;
  let documentTokens = 0;
  for (const { from, to, isDocument } of mediaTexts(chunks)) {
    textBytes -= to - from;
    const tokens = Math.min(mediaTokensMax, estimateTokensOfLength(to - from));
    mediaTokens += tokens;
    if (isDocument) documentTokens += Math.max(0, tokensOfPages(to - from) - tokens);
  }
  return { tokens: estimateTokensOfLength(textBytes) + mediaTokens, documentTokens };
}
