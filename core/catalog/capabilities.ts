// What does an upstream get of each feature that a request can use, if its dialect is not the client's? One table: the
// operator checks routes by it, the gateway serves by it.
//
// Refused if dropping it would change the result in a way that the caller can check; reported if quality
// or cost may change; dropped silently if it is only a hint.

import {
  DIALECTS,
  type DialectName,
  isUpstreamOnly,
  type UpstreamDialectName,
  type UpstreamOnlyName,
  upstreamsFor,
} from './dialects.ts';

export type Capability =
  /** Client and upstream speak the same dialect: the bytes pass through. */
  | 'native'
  /** Said in the upstream's own terms, nothing lost. */
  | 'translated'
  /** Lossy: a hint, left out without a word. */
  | 'dropped'
  /** Lossy: left out or weakened, and named in the header `x-penstock-dropped`. */
  | 'reported'
  /** Refused with 400 `unsupported_parameter`, naming the parameter. */
  | 'impossible';

const t = 'translated';
const d = 'dropped';
const w = 'reported';
const x = 'impossible';

type Row = readonly [chat: Capability, responses: Capability, messages: Capability, completions: Capability];

/** By upstream: chat, responses, messages, completions. */
const table = {
  // Turns and their parts.
  'system-text': [t, t, t, t],
  'later-system-text': [t, t, t, t],
  'several-turns': [t, t, t, t],
  'author-name': [t, d, d, d],
  image: [t, t, t, x],
  /** By an address that the upstream fetches. */
  'image-url': [t, t, t, x],
  /** Base64 of another type than JPEG, PNG, GIF and WebP. */
  'image-of-rare-type': [t, t, x, x],
  'image-detail': [t, t, d, x],
  /** An image or file by the id it has at one provider. */
  'file-id': [x, x, x, x],
  pdf: [t, t, t, x],
  'file-url': [x, t, t, x],
  /** A base64 file that is neither PDF nor plain text. */
  'file-of-other-type': [t, t, x, x],
  'text-document': [t, t, t, t],
  'search-result': [t, t, t, t],
  citations: [w, w, t, w],
  'audio-in': [t, t, x, x],
  'audio-out': [t, x, x, x],
  /** Blocks that a provider's own tools have left in the conversation. */
  'hosted-history': [w, w, w, w],

  // Tools.
  tools: [t, t, t, x],
  'strict-tool': [t, t, d, x],
  'custom-tool': [t, t, t, x],
  'tool-namespace': [t, t, t, x],
  'tool-search': [d, d, d, x],
  /** A vendor's tool that the client runs, with published inputs: elsewhere a function. */
  'client-tool': [t, t, t, x],
  /** Refused: an agent must not go on without its hands. */
  'computer-tool': [x, x, x, x],
  'hosted-tool': [w, w, w, w],
  'web-search': [w, t, t, w],
  'forced-web-search': [x, t, t, x],
  /** A tool choice that names a tool which is left out. */
  'forced-hosted-tool': [x, x, x, x],
  'tool-subset': [t, t, t, x],
  'parallel-calls-off': [t, t, t, x],
  'tool-result-media': [t, t, t, x],
  'tool-error': [t, t, t, x],
  /** Arguments in the history that are no JSON object. */
  'malformed-arguments': [t, t, x, x],

  // The form of the answer.
  'json-schema': [t, t, t, x],
  'json-object': [t, t, t, x],
  verbosity: [t, t, d, d],
  choices: [t, x, x, t],
  logprobs: [t, t, x, t],
  /** More than five alternatives a token. */
  'many-logprobs': [t, t, x, x],

  // Reasoning.
  reasoning: [t, t, t, w],
  'reasoning-summary': [d, t, t, d],
  'reasoning-history': [t, t, t, d],

  // Sampling and limits.
  'max-tokens': [t, t, t, t],
  temperature: [t, t, t, t],
  'temperature-above-1': [t, t, w, t],
  'top-p': [t, t, t, t],
  /** Both given: models of the messages dialect take only one, and temperature stays. */
  'top-p-beside-temperature': [t, t, w, t],
  'top-k': [w, w, t, d],
  penalties: [t, w, w, t],
  'logit-bias': [t, w, w, t],
  seed: [t, w, w, t],
  stop: [t, t, t, t],
  /** A stop sequence of white space only. */
  'blank-stop': [t, t, w, t],
  /** Which of them was met, in the answer. Some servers name it, and the gateway knows those that it cuts at. */
  'stop-name': [d, t, t, d],

  // Everything else.
  'end-user': [t, t, t, t],
  store: [t, d, d, d],
  metadata: [d, t, d, d],
  'service-tier': [t, t, t, d],
  'prompt-cache-key': [t, t, d, d],
  'cache-hint': [d, d, t, d],
  /** Depends on what one provider has stored: earlier responses, conversations, threads, prompts, items. */
  'stored-state': [x, x, x, x],
  compaction: [x, x, x, x],
  'context-management': [d, d, w, d],
  include: [d, t, d, d],
  prediction: [t, d, d, d],

  // Of the completions dialect.
  'several-prompts': [t, t, t, t],
  echo: [t, t, t, t],
  suffix: [x, x, x, t],
  'best-of': [x, x, x, t],

  /** A known member that only its own dialect understands. */
  'vendor-member': [w, w, w, w],
  'unknown-member': [w, w, w, w],
} as const satisfies Record<string, Row>;

export type Feature = keyof typeof table;

export const features: readonly Feature[] = Object.keys(table).filter(isFeature);

function isFeature(name: string): name is Feature {
  return Object.hasOwn(table, name);
}

/** Where the client's dialect makes a difference. */
const exceptions: Partial<Record<DialectName, Partial<Record<Feature, Row>>>> = {
  'openai-completions': {
    // Served by one upstream call an answer.
    choices: [t, t, t, t],
    // Counted in another way than chat counts them.
    logprobs: [x, x, x, t],
  },
};

/** Columns of the dialects that only upstreams speak: another one's, but for these features. */
const upstreamColumns: Readonly<Record<UpstreamOnlyName, UpstreamColumn>> = {
  'bedrock-converse': {
    like: 'anthropic-messages',
    except: {
      'image-url': x,
      'file-url': x,
      'file-of-other-type': t,
      citations: w,
      'web-search': w,
      'forced-web-search': x,
      metadata: t,
    },
  },
  'google-generate-content': {
    like: 'openai-chat',
    except: {
      'author-name': d,
      'image-detail': d,
      'file-url': t,
      'file-of-other-type': x,
      'audio-out': x,
      'strict-tool': d,
      'web-search': t,
      'parallel-calls-off': w,
      'malformed-arguments': x,
      verbosity: d,
      'reasoning-summary': t,
      'reasoning-history': d,
      'top-k': t,
      'logit-bias': w,
      'end-user': d,
      store: d,
      'service-tier': w,
      'prompt-cache-key': d,
      prediction: d,
    },
  },
};

interface UpstreamColumn {
  readonly like: DialectName;
  readonly except: Readonly<Partial<Record<Feature, Capability>>>;
}

export function capability(client: DialectName, upstream: UpstreamDialectName, feature: Feature): Capability {
  if (client === upstream) return 'native';
  if (!isUpstreamOnly(upstream)) return inColumn(client, upstream, feature);
  const { like, except } = upstreamColumns[upstream];
  return except[feature] ?? inColumn(client, like, feature);
}

function inColumn(client: DialectName, upstream: DialectName, feature: Feature): Capability {
  return (exceptions[client]?.[feature] ?? table[feature])[DIALECTS[upstream].column];
}

/** The features that people check first when they choose a model, and the rows of the table behind each. */
const headlines = {
  streaming: [],
  tools: ['tools'],
  images: ['image'],
  'structured output': ['json-schema'],
  reasoning: ['reasoning'],
} as const satisfies Record<string, readonly Feature[]>;

export type Headline = keyof typeof headlines;

export const headlineNames: readonly Headline[] = Object.keys(headlines).filter(isHeadline);

function isHeadline(name: string): name is Headline {
  return Object.hasOwn(headlines, name);
}

/** The given upstream dialects, the one that suits the client best first. */
export function rankUpstreams(
  client: DialectName,
  upstreams: readonly UpstreamDialectName[],
): readonly UpstreamDialectName[] {
  return upstreamsFor[client].filter((dialect) => upstreams.includes(dialect));
}

/** One word on a headline: both ways of losing something count as lossy. */
type HeadlineVerdict = 'native' | 'translated' | 'lossy' | 'impossible';

export function judgeHeadline(
  client: DialectName,
  upstream: UpstreamDialectName,
  headline: Headline,
): HeadlineVerdict {
  if (client === upstream) return 'native';
  const found = headlines[headline].map((feature) => capability(client, upstream, feature));
  if (found.includes('impossible')) return 'impossible';
  return found.some((each) => each === 'reported' || each === 'dropped') ? 'lossy' : 'translated';
}
