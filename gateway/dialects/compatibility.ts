// Can a request be carried to an upstream dialect, and what is lost on the way? Read off the
// capabilities table, and for URLs off the provider; nothing else decides it.

import { capability, type Feature } from '../../core/catalog/capabilities.ts';
import {
  type DialectName,
  UPSTREAM_DIALECTS,
  type UpstreamDialectName,
} from '../../core/catalog/dialects.ts';
import type { ProviderEntry } from '../../core/contract/routing-table.ts';
import { GatewayError } from '../request/errors.ts';
import type { Ask, Conversation } from './conversation.ts';
import type { UpstreamDialect, UpstreamTarget } from './dialect.ts';
import { asksForTooMuch, normalise } from './normalise.ts';

/**
 * What cannot be carried, the first such thing; undefined if all can. Where tools are no option
 * at all, that is what the caller has to hear, not a detail of one of them.
 */
export function findImpossible(
  client: DialectName,
  upstream: UpstreamDialectName,
  { asks }: Conversation,
  { messagesSources }: Pick<ProviderEntry, 'messagesSources'> = {},
): Ask | undefined {
  const takesNoUrl = upstream === 'anthropic-messages' && messagesSources === 'base64';
  const isImpossible = ({ feature }: Ask): boolean =>
    capability(client, upstream, feature) === 'impossible' || (takesNoUrl && feature in byUrl);
  return asks.find((ask) => ask.feature === 'tools' && isImpossible(ask)) ?? asks.find(isImpossible);
}

/** What an upstream would have to fetch itself, in a sentence. */
const byUrl: Partial<Record<Feature, string>> = { 'image-url': 'images', 'file-url': 'files' };

/** `unsupported_parameter`, naming the parameter, and why it is refused. */
export function impossible({ feature, param }: Ask, upstream: UpstreamDialectName): GatewayError {
  const fetched = byUrl[feature];
  const why =
    fetched === undefined
      ? `its upstream speaks ${UPSTREAM_DIALECTS[upstream].phrase}. Leave it out`
      : `its upstream takes no ${fetched} by URL. Send it as base64`;
  return new GatewayError(
    'unsupported_parameter',
    `'${param}' cannot be carried to this model: ${why}, or use another model.`,
    { param, details: param === 'thread' ? threadUnsupported : undefined },
  );
}

/** Anthropic's SDK sends the conversation whole, and no thread any more, where a refusal says this. */
const threadUnsupported = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };

/** The parameters that are left out or weakened at this target, each named once. */
export function listDropped(
  client: DialectName,
  { name, asUpstream }: Pick<UpstreamDialect, 'name' | 'asUpstream'>,
  conversations: readonly Conversation[],
  target: UpstreamTarget,
): readonly string[] {
  // Equal prompts are judged once: a request may repeat a long prompt many times, with different seeds.
  const different = new Map(conversations.map((conversation) => [conversation.turns, conversation]));
  const lossy = [...different.values()].flatMap((conversation) => {
    const lost = asUpstream.lost?.(normalise(conversation, target, asUpstream), target) ?? [];
    return conversation.asks.filter(
      ({ feature }) =>
        capability(client, name, feature) === 'reported' ||
        lost.includes(feature) ||
        (feature === 'max-tokens' && asksForTooMuch(conversation, target.maxOutputTokens)),
    );
  });
  return [...new Set(lossy.map(({ param }) => param))].sort();
}

/** Longer lists are cut; no caller reads them, and headers have their limits. */
const namesMax = 32;
const nameLengthMax = 64;

/** The value of the header `x-penstock-dropped`; undefined if nothing was dropped. */
export function droppedHeader(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  const shown = names
    .slice(0, namesMax)
    .map((name) => name.slice(0, nameLengthMax).replace(/[^\w.[\]-]/g, '?'));
  return [...shown, ...(names.length > namesMax ? ['...'] : [])].join(',');
}
