// Generates docs/dialects.md: how each feature of a request is carried between dialects, from the table that gateway and operator
// decide by.

import {
  type Capability,
  capability,
  type Feature,
  features,
  headlineNames,
  judgeHeadline,
  rankUpstreams,
} from '../../core/catalog/capabilities.ts';
import {
  type DialectName,
  dialectsInOrder,
  isUpstreamOnly,
  UPSTREAM_DIALECTS,
  type UpstreamDialectName,
  upstreamDialectsInOrder,
} from '../../core/catalog/dialects.ts';
import { typesThat } from '../../core/catalog/provider-types.ts';
import { inWords } from './in-words.ts';
import { code, row, table } from './markdown.ts';

const GENERATED = '<!-- Generated from core/catalog/capabilities.ts by `npm run generate`; do not edit. -->';

const VERDICTS: Readonly<Record<Capability, string>> = {
  native: 'native',
  translated: 'kept',
  dropped: 'dropped',
  reported: '**reported**',
  impossible: '**refused**',
};

/** The first feature of each section. */
const SECTIONS: Partial<Record<Feature, string>> = {
  'system-text': 'Turns and their parts',
  tools: 'Tools',
  'json-schema': 'The form of the answer',
  reasoning: 'Reasoning',
  'max-tokens': 'Sampling and limits',
  'end-user': 'Everything else',
  'several-prompts': 'Of the completions dialect',
  'vendor-member': 'All other members',
};

/** As callers write it, in any dialect. */
const WORDS: Readonly<Record<Feature, string>> = {
  'system-text': 'system and developer text before the turns; `instructions`, `system`',
  'later-system-text': 'system and developer text between turns',
  'several-turns': 'a conversation of several turns',
  'author-name': '`name` of a message',
  image: 'an image, as base64 or by URL',
  'image-url': 'an image by URL',
  'image-of-rare-type': 'a base64 image that is no JPEG, PNG, GIF or WebP',
  'image-detail': '`detail` of an image',
  'file-id': 'an image or file by its id at one provider',
  pdf: 'a PDF as base64',
  'file-url': 'a file by URL',
  'file-of-other-type': 'a base64 file that is neither PDF nor plain text',
  'text-document': 'a plain-text document',
  'search-result': 'a `search_result` block, as text',
  citations: '`citations`',
  'audio-in': 'audio in a message',
  'audio-out': 'audio as the answer: `modalities`, `audio`',
  'hosted-history': "results of a provider's own tools in the conversation",
  tools: 'functions: `tools`, `tool_choice`, calls and results, also in parallel',
  'strict-tool': '`strict` of a function',
  'custom-tool': 'a custom (freeform) tool',
  'tool-namespace': 'a namespace of tools',
  'tool-search': 'searching among tools; deferred loading',
  'client-tool':
    "a vendor's tool that the client runs: `bash_…`, `text_editor_…`, `memory_…`; `shell`, `local_shell`, `apply_patch`",
  'computer-tool': 'computer use, which the client runs: `computer_…`, `computer`, `computer_use_preview`',
  'hosted-tool': 'a tool that the provider runs: code, files, image generation, MCP',
  'web-search': 'web search',
  'forced-web-search': 'web search required by `tool_choice`',
  'forced-hosted-tool': 'a `tool_choice` that names a dropped tool',
  'tool-subset': '`tool_choice` of some allowed tools',
  'parallel-calls-off': '`parallel_tool_calls: false`, `disable_parallel_tool_use`',
  'tool-result-media': 'images and files in a tool result',
  'tool-error': '`is_error` of a tool result',
  'malformed-arguments': 'arguments in the history that are no JSON object',
  'json-schema': 'an answer by JSON schema: `response_format`, `text.format`, `output_config.format`',
  'json-object': 'an answer as any JSON object',
  verbosity: '`verbosity`',
  choices: '`n`',
  logprobs: '`logprobs`',
  'many-logprobs': '`top_logprobs` above 5',
  reasoning: '`reasoning_effort`, `reasoning`, `thinking`',
  'reasoning-summary': '`reasoning.summary`',
  'reasoning-history': 'thinking of earlier turns',
  'max-tokens': '`max_tokens`, `max_completion_tokens`, `max_output_tokens`',
  temperature: '`temperature`',
  'temperature-above-1': '`temperature` above 1: becomes 1',
  'top-p': '`top_p`',
  'top-p-beside-temperature': '`top_p` beside `temperature`',
  'top-k': '`top_k`',
  penalties: '`frequency_penalty`, `presence_penalty`',
  'logit-bias': '`logit_bias`',
  seed: '`seed`',
  stop: '`stop`, `stop_sequences`',
  'blank-stop': 'a stop sequence of white space only',
  'stop-name':
    '`stop_reason: stop_sequence` and its name in the answer; vLLM, SGLang, and more than four stop sequences: kept',
  'end-user': '`user`, `safety_identifier`, `metadata.user_id`',
  store: '`store`',
  metadata: '`metadata`',
  'service-tier': '`service_tier`',
  'prompt-cache-key': '`prompt_cache_key`',
  'cache-hint': '`cache_control`',
  'stored-state':
    'state stored at one provider: `previous_response_id`, `conversation`, `prompt`, `item_reference`',
  compaction: 'compaction of a conversation at the provider',
  'context-management': '`context_management`',
  include: '`include`',
  prediction: '`prediction`',
  'several-prompts': 'several prompts in one request',
  echo: '`echo`',
  suffix: '`suffix`',
  'best-of': '`best_of`',
  'vendor-member': 'a member of one dialect only',
  'unknown-member': 'an unknown member',
};

export function dialectsReference(): string {
  return [
    GENERATED,
    '# Dialects: supported features',
    '',
    `Clients speak ${inWords(dialectsInOrder.map(titleOf), 'or')}, and so do upstreams${onlyUpstreams()}. If both speak the same, bytes are forwarded unchanged:`,
    '**native**. If they differ, the gateway translates the request into the dialect of the upstream, and the answer into that of the client.',
    'The condition `Translatable` of a ModelRoute and the gateway use these tables. To connect a client, see [the guide](guides/clients.md).',
    '',
    '## At a glance',
    '',
    ...headlineTable(),
    '*translated*: streaming, tools, images, structured output and reasoning are carried. Text is always carried; Completions has only text.',
    '',
    '## Choice of dialect for a target',
    '',
    'For a target with several dialects, the gateway uses the first one of the row that the target has and that can carry the request.',
    '',
    ...table(
      ['Client', 'Upstream'],
      dialectsInOrder.map((client) =>
        row([titleOf(client), rankUpstreams(client, upstreamDialectsInOrder).map(titleOf).join(', ')]),
      ),
    ),
    '## All features',
    '',
    'By the dialect of the upstream, if the client speaks another one. *kept*: translated without loss. *dropped*: a hint that is left out silently.',
    '*reported*: left out or weakened, and named in the header `x-penstock-dropped`. *refused*: 400 `unsupported_parameter`, with the name of the parameter;',
    'if the model has a target that can carry it, that target is used.',
    '',
    ...messagesLimits(),
    '',
    ...featureTables(),
  ].join('\n');
}

/** What some types do not take of the dialect. */
function messagesLimits(): string[] {
  const base64Only = typesThat(({ messagesSources }) => messagesSources?.value === 'base64').map(code);
  const byTool = typesThat(({ messagesSchemas }) => messagesSchemas?.value === 'by-tool').map(code);
  return [
    `In Messages, Providers of the types ${inWords(base64Only)} take images and files as base64 only: by URL these are **refused**. Those of the type ${inWords(byTool)}`,
    'take no schema of an answer: a tool that the model has to call takes its place. The schema of a Messages client is forwarded unchanged,',
    'and so are its URLs if all targets of the model speak Messages.',
  ];
}

function onlyUpstreams(): string {
  const only = upstreamDialectsInOrder.filter(isUpstreamOnly).map(titleOf);
  return only.length === 0 ? '' : `; ${inWords(only, 'or')} is spoken by upstreams only`;
}

function titleOf(dialect: UpstreamDialectName): string {
  return UPSTREAM_DIALECTS[dialect].api;
}

function headlineTable(): string[] {
  return table(
    ['Client', ...upstreamDialectsInOrder.map((upstream) => `at ${titleOf(upstream)}`)],
    dialectsInOrder.map((client) =>
      row([titleOf(client), ...upstreamDialectsInOrder.map((upstream) => glance(client, upstream))]),
    ),
  );
}

function glance(client: DialectName, upstream: UpstreamDialectName): string {
  if (client === upstream) return 'native';
  const refused = headlineNames.filter((name) => judgeHeadline(client, upstream, name) === 'impossible');
  const lost = headlineNames.filter((name) => judgeHeadline(client, upstream, name) === 'lossy');
  if (refused.length + lost.length === 0) return 'translated';
  return [
    ...(refused.length === 0 ? [] : [`**refused**: ${refused.join(', ')}`]),
    ...(lost.length === 0 ? [] : [`**lost**: ${lost.join(', ')}`]),
  ].join('; ');
}

function featureTables(): string[] {
  const head = ['What', ...upstreamDialectsInOrder.map((upstream) => `at ${titleOf(upstream)}`)];
  const starts = features.flatMap((feature, at) => (SECTIONS[feature] === undefined ? [] : [at]));
  return starts.flatMap((start, index) => {
    const section = features.slice(start, starts[index + 1]);
    const [first] = section;
    const title = first === undefined ? '' : (SECTIONS[first] ?? '');
    return [`### ${title}`, '', ...table(head, section.flatMap(featureRows))];
  });
}

/** One row, and one more for each client dialect that is carried differently. */
function featureRows(feature: Feature): string[] {
  const usual = upstreamDialectsInOrder.map((upstream) =>
    verdict(usualClientFor(upstream), upstream, feature),
  );
  const others = dialectsInOrder.flatMap((client) => {
    const own = upstreamDialectsInOrder.map((upstream) => verdict(client, upstream, feature));
    if (own.every((each, at) => client === upstreamDialectsInOrder[at] || each === usual[at])) return [];
    return [row([`${WORDS[feature]}, from ${code(titleOf(client))}`, ...own])];
  });
  return [row([WORDS[feature], ...usual]), ...others];
}

function verdict(client: DialectName, upstream: UpstreamDialectName, feature: Feature): string {
  return VERDICTS[capability(client, upstream, feature)];
}

/** A client of another dialect. */
function usualClientFor(upstream: UpstreamDialectName): DialectName {
  return upstream === 'openai-chat' ? 'openai-responses' : 'openai-chat';
}
