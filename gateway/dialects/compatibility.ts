// Can a request be carried to an upstream dialect, and what is lost on the way? Read off the
// capabilities table; nothing else decides it.

import { capability } from '../../core/catalog/capabilities.ts';
import {
  type DialectName,
  UPSTREAM_DIALECTS,
  type UpstreamDialectName,
} from '../../core/catalog/dialects.ts';
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
): Ask | undefined {
  const isImpossible = ({ feature }: Ask): boolean => capability(client, upstream, feature) === 'impossible';
  return asks.find((ask) => ask.feature === 'tools' && isImpossible(ask)) ?? asks.find(isImpossible);
}

/** `unsupported_parameter`, naming the parameter and what the upstream speaks. */
export function impossible({ param }: Ask, upstream: UpstreamDialectName): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `'${param}' cannot be carried to this model: its upstream speaks ${UPSTREAM_DIALECTS[upstream].phrase}. Leave it out, or use another model.`,
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
