// What do vendors mean by words that no dialect defines? One row for each phrase or code, with where it was seen.

import type { UpstreamError } from '../dialects/dialect.ts';

/** What an error is about, where its status alone would mislead. */
export type Meaning =
  /** This request asks for more than the account may use at once; smaller ones pass. */
  | 'request-too-large'
  /** The account has no quota for this model; it may have one for others. */
  | 'no-quota'
  /** A limit of the whole account, not of one model. */
  | 'account-limit'
  /** The account has no credit left. */
  | 'out-of-money'
  /** The server has too much to do, for all accounts. */
  | 'overloaded'
  | 'prompt-too-long'
  | 'content-flagged'
  | 'model-unknown'
  /**
   * What the model wrote cannot be read as the calls or the JSON that were asked for: chance decides, and another model may do it.
   */
  | 'model-fault';

/** Tokens that a request asks for, as we estimate them. */
export interface RequestSize {
  readonly input: number;
  readonly output: number;
}

interface ErrorQuirk {
  readonly vendor: string;
  /** Left out: whatever the status is. */
  readonly statuses?: readonly number[];
  /** Matches the message. Anchored if the vendor repeats words of the caller in it. */
  readonly phrase?: RegExp;
  /** Matches type and code, with a blank in between. */
  readonly word?: RegExp;
  readonly meaning: Meaning;
  /** Applies only if the request has more tokens of this kind than the group `limit` of the phrase. */
  readonly over?: keyof RequestSize;
  /** A public thread that has it word for word, or the vendor's own page. */
  readonly source: string;
  /** Month in which it was written there. */
  readonly seen: string;
}

const github = 'https://github.com';
const bedrockErrors = 'https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html';
/** From before there was this table, without a thread. */
const kept = { source: 'not recorded', seen: '2026-10' } as const;

/** The first row that fits counts. */
export const errorQuirks: readonly ErrorQuirk[] = [
  {
    vendor: 'OpenAI',
    statuses: [429],
    phrase: /^Request too large for /,
    meaning: 'request-too-large',
    source: `${github}/vanna-ai/vanna-flask/issues/11`,
    seen: '2024-06',
  },
  {
    vendor: 'Groq',
    statuses: [413],
    phrase: /^Request too large for model `?\S+ in organization /,
    meaning: 'request-too-large',
    source: `${github}/continuedev/continue/issues/10218`,
    seen: '2026-02',
  },
  {
    vendor: 'OpenRouter',
    statuses: [402],
    phrase:
      /^This request requires more credits, or fewer max_tokens\. You requested up to \d+ tokens, but can only afford [1-9]/,
    meaning: 'request-too-large',
    source: `${github}/Taewan-P/gpt_mobile/issues/284`,
    seen: '2026-06',
  },
  {
    vendor: 'OpenRouter',
    statuses: [402],
    phrase: /^Prompt tokens limit exceeded: \d/,
    meaning: 'request-too-large',
    source: `${github}/anomalyco/opencode/issues/12219`,
    seen: '2026-05',
  },
  {
    vendor: 'Anthropic',
    statuses: [429],
    phrase: /^Extra usage is required for long context requests\b/,
    meaning: 'request-too-large',
    source: `${github}/Wei-Shaw/sub2api/issues/572`,
    seen: '2026-02',
  },
  {
    vendor: 'Anthropic',
    statuses: [429],
    phrase:
      /^This request would exceed (?:your organization's rate limit|the rate limit for your organization(?: \([\w-]+\))?) of (?<limit>[\d,]+) input tokens per minute/,
    meaning: 'request-too-large',
    over: 'input',
    source: `${github}/continuedev/continue/issues/12057`,
    seen: '2026-04',
  },
  {
    vendor: 'Anthropic',
    statuses: [429],
    phrase:
      /^This request would exceed (?:your organization's rate limit|the rate limit for your organization(?: \([\w-]+\))?) of (?<limit>[\d,]+) output tokens per minute/,
    meaning: 'request-too-large',
    over: 'output',
    source: `${github}/continuedev/continue/issues/9623`,
    seen: '2026-01',
  },
  {
    vendor: 'Anthropic',
    statuses: [429],
    phrase: /^This request would exceed your account's rate limit\./,
    meaning: 'account-limit',
    source: `${github}/gsd-build/gsd-2/issues/32`,
    seen: '2026-03',
  },
  {
    vendor: 'xAI',
    statuses: [429],
    phrase:
      /^Too many tokens for team \S+ and model \S+\. Your team's rate limit is \W{1,5}Tokens per Minute \(actual\/limit\): \d+\/(?<limit>\d+)/,
    meaning: 'request-too-large',
    over: 'input',
    source: `${github}/cline/cline/issues/4826`,
    seen: '2025-07',
  },
  {
    vendor: 'xAI',
    phrase: /^Your team \S+ has either used all available credits or reached its monthly spending limit\./,
    meaning: 'out-of-money',
    source: `${github}/warpdotdev/warp/issues/14863`,
    seen: '2026-08',
  },
  {
    vendor: 'Google',
    statuses: [429],
    phrase:
      /^You exceeded your current quota, please check your plan and billing details\.[^*]{0,400}\* Quota exceeded for metric: \S+, limit: 0, model: /,
    meaning: 'no-quota',
    source: `${github}/continuedev/continue/issues/9570`,
    seen: '2026-01',
  },
  {
    vendor: 'Moonshot',
    statuses: [429],
    phrase:
      /^(?:Your account .{1,200} )?(?:request reached (?:max )?organization |Organization Rate limit exceeded)/,
    meaning: 'account-limit',
    source: `${github}/LLM-Red-Team/kimi-cc/issues/16`,
    seen: '2025-07',
  },
  {
    vendor: 'Moonshot',
    statuses: [429],
    phrase: /^(?:The engine is currently overloaded|We're receiving too many requests at the moment)\b/,
    meaning: 'overloaded',
    source: `${github}/MoonshotAI/kimi-code/issues/1252`,
    seen: '2026-07',
  },
  {
    vendor: 'OpenAI',
    statuses: [503],
    word: /slow_down/,
    meaning: 'overloaded',
    source: `${github}/zed-industries/zed/pull/63238`,
    seen: '2026-08',
  },
  {
    vendor: 'Moonshot',
    word: /exceeded_current_quota/i,
    meaning: 'out-of-money',
    ...kept,
  },
  {
    vendor: 'Ollama',
    statuses: [429],
    phrase: /^you(?:'ve| \(\S{1,80}\) have) reached your (?:hourly|session|weekly) usage limit\b/,
    meaning: 'account-limit',
    source: `${github}/continuedev/continue/issues/11444`,
    seen: '2026-03',
  },
  {
    vendor: 'OpenAI',
    word: /insufficient_(?:quota|balance|credits?|funds)|billing/i,
    meaning: 'out-of-money',
    source: `${github}/ChatGPTNextWeb/NextChat/issues/3664`,
    seen: '2023-12',
  },
  {
    vendor: 'Anthropic',
    word: /credit_balance/i,
    meaning: 'out-of-money',
    ...kept,
  },
  {
    vendor: 'Anthropic',
    phrase: /^Your credit balance is too low to access/,
    meaning: 'out-of-money',
    source: `${github}/anthropics/claude-quickstarts/issues/229`,
    seen: '2025-01',
  },
  {
    vendor: 'Anthropic',
    phrase: /^You have reached your specified (?:workspace )?API usage limits/,
    meaning: 'out-of-money',
    ...kept,
  },
  {
    vendor: 'DeepSeek',
    statuses: [400, 402],
    phrase: /^Insufficient Balance$/,
    meaning: 'out-of-money',
    source: `${github}/Aider-AI/aider/issues/4851`,
    seen: '2026-02',
  },
  {
    vendor: 'DashScope',
    word: /arrearage/i,
    meaning: 'out-of-money',
    source: `${github}/tencentmusic/supersonic/issues/1572`,
    seen: '2024-08',
  },
  {
    vendor: 'Groq',
    word: /blocked_api_access/i,
    meaning: 'out-of-money',
    ...kept,
  },
  {
    vendor: 'Anthropic',
    phrase: /prompt is too long/i,
    meaning: 'prompt-too-long',
    source: `${github}/stackblitz/bolt.new/issues/1748`,
    seen: '2024-11',
  },
  {
    vendor: 'OpenAI, and vLLM after it',
    phrase: /maximum context length|exceeds? (?:the )?context (?:limit|window)/i,
    meaning: 'prompt-too-long',
    source: `${github}/vllm-project/vllm/issues/20409`,
    seen: '2025-07',
  },
  {
    vendor: 'Google',
    phrase: /input token count\b.{0,20} exceeds the maximum/i,
    meaning: 'prompt-too-long',
    source: `${github}/google-gemini/gemini-cli/issues/4231`,
    seen: '2025-07',
  },
  {
    vendor: 'xAI',
    phrase: /maximum prompt length is/i,
    meaning: 'prompt-too-long',
    source: `${github}/cline/cline/issues/3120`,
    seen: '2025-04',
  },
  {
    vendor: 'llama.cpp',
    phrase: /exceeds the available context size/i,
    meaning: 'prompt-too-long',
    source: `${github}/ggml-org/llama.cpp/pull/15780`,
    seen: '2025-09',
  },
  {
    vendor: 'Bedrock',
    phrase: /^input is too long for requested model/i,
    meaning: 'prompt-too-long',
    source: `${github}/aws-samples/bedrock-chat/issues/95`,
    seen: '2023-12',
  },
  {
    vendor: 'Bedrock',
    statuses: [400],
    word: /^ServiceQuotaExceededException\b/,
    meaning: 'account-limit',
    source: bedrockErrors,
    seen: '2026-11',
  },
  {
    // A model that is imported or seldom used is loaded first.
    vendor: 'Bedrock',
    statuses: [429],
    word: /^ModelNotReadyException\b/,
    meaning: 'overloaded',
    source: bedrockErrors,
    seen: '2026-11',
  },
  {
    vendor: 'Bedrock',
    statuses: [424],
    word: /^Model(?:Stream)?ErrorException\b/,
    meaning: 'model-fault',
    source: bedrockErrors,
    seen: '2026-11',
  },
  {
    vendor: 'Bedrock',
    statuses: [400],
    phrase: /^The provided model identifier is invalid\b/,
    meaning: 'model-unknown',
    source: `${github}/iOfficeAI/AionCore/pull/377`,
    seen: '2026-06',
  },
  {
    // Only an inference profile serves the model.
    vendor: 'Bedrock',
    statuses: [400],
    phrase: /^Invocation of model ID \S{1,300} with on-demand throughput isn.t supported\b/,
    meaning: 'model-unknown',
    source: `${github}/terricain/aioboto3/issues/352`,
    seen: '2024-12',
  },
  {
    vendor: 'OpenRouter',
    statuses: [401, 403],
    // The author of what it repeats is its reader: no harm if it is not at the beginning.
    phrase: /\binput was flagged\b/i,
    meaning: 'content-flagged',
    ...kept,
  },
  {
    vendor: 'Groq',
    word: /tool_use_failed|json_validate_failed|output_parse_failed/,
    meaning: 'model-fault',
    source: `${github}/groq/groq-typescript/issues/28`,
    seen: kept.seen,
  },
  {
    // Finish reasons of an answer without content; see gateway/dialects/google-generate-content/map-finish-reason.ts.
    vendor: 'Google',
    word: /MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS/,
    meaning: 'model-fault',
    source: 'https://ai.google.dev/api/generate-content#FinishReason',
    seen: '2026-11',
  },
  {
    // Not from where the gateway is: another target may have the model.
    vendor: 'Google',
    statuses: [400],
    phrase: /^User location is not supported/,
    meaning: 'model-unknown',
    source: `${github}/google-gemini/gemini-cli/issues/24641`,
    seen: '2026-04',
  },
  {
    // Claude, at the path of Gemini's models.
    vendor: 'Google',
    statuses: [400],
    phrase: /^\S+ is not supported in the \S+ API\b/,
    meaning: 'model-unknown',
    source: `${github}/egoist/chatwise-releases/issues/1009`,
    seen: '2025-09',
  },
  {
    vendor: 'DeepSeek',
    phrase: /^Model Not Exist$/,
    meaning: 'model-unknown',
    source: `${github}/ConardLi/easy-dataset/issues/9`,
    seen: '2025-03',
  },
  {
    vendor: 'OpenRouter',
    phrase: /^\S+ is not a valid model ID$/,
    meaning: 'model-unknown',
    source: `${github}/OpenRouterTeam/openrouter-examples/issues/74`,
    seen: '2026-05',
  },
  {
    // Models are served by deployments there.
    vendor: 'Azure',
    statuses: [404, 410],
    phrase: /deployment/i,
    word: /deployment/i,
    meaning: 'model-unknown',
    source: `${github}/chatboxai/chatbox/issues/739`,
    seen: '2023-06',
  },
];

/**
 * What the error is about, as far as the vendors' own words say; undefined: what its status says.
 *
 * @param size Undefined: not known, so that no request is larger than a limit.
 */
export function meaningOf(
  status: number,
  error: UpstreamError,
  size: RequestSize | undefined,
): Meaning | undefined {
  return errorQuirks.find((quirk) => {
    const said = matchOf(quirk, status, error);
    return said !== undefined && isOver(quirk, said, size);
  })?.meaning;
}

/** Whether it depends on the size of the request what the error is about. */
export function namesTokenLimit(status: number, error: UpstreamError): boolean {
  return errorQuirks.some((quirk) => quirk.over !== undefined && matchOf(quirk, status, error) !== undefined);
}

function matchOf(
  { statuses, phrase, word }: ErrorQuirk,
  status: number,
  { message, type, code }: UpstreamError,
): RegExpExecArray | undefined {
  if (statuses !== undefined && !statuses.includes(status)) return undefined;
  return phrase?.exec(message) ?? word?.exec(`${type ?? ''} ${code ?? ''}`) ?? undefined;
}

function isOver({ over }: ErrorQuirk, said: RegExpExecArray, size: RequestSize | undefined): boolean {
  if (over === undefined) return true;
  const limit = Number(said.groups?.limit?.replaceAll(',', ''));
  return size !== undefined && size[over] > limit;
}
