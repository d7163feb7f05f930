// What can a client dialect carry to a target?

import {
  type Headline,
  headlineNames,
  judgeHeadline,
  rankUpstreams,
} from '../../core/catalog/capabilities.ts';
import {
  type Api,
  apisInOrder,
  dialectOfApi,
  UPSTREAM_DIALECTS,
  type UpstreamApi,
  upstreamApisInOrder,
  upstreamDialectOfApi,
} from '../../core/catalog/dialects.ts';
import {
  declarableHeadlines,
  MODEL_CAPABILITIES,
  type ModelCapability,
} from '../../core/catalog/model-capabilities.ts';

export function inOrder(apis: readonly Api[]): Api[] {
  return apisInOrder.filter((api) => apis.includes(api));
}

export function upstreamsInOrder(apis: readonly UpstreamApi[]): UpstreamApi[] {
  return upstreamApisInOrder.filter((api) => apis.includes(api));
}

/** A client dialect at a target. */
export interface Pairing {
  readonly api: Api;
  readonly target: string;
  /** The dialect used with the target. */
  readonly upstream: UpstreamApi;
  readonly isNative: boolean;
  /** Features of the model that are left out or weakened, and refused ones. */
  readonly lost: readonly Headline[];
  readonly refused: readonly Headline[];
  /** Declared capabilities that are refused: with one of them the pair is impossible as a whole. */
  readonly unmet: readonly ModelCapability[];
}

interface SpokenTarget {
  readonly name: string;
  /** At least one. */
  readonly apis: readonly UpstreamApi[];
}

/** @param declared what the model can do; empty: not declared, so text is enough for service. */
export function pairUp(api: Api, target: SpokenTarget, declared: readonly ModelCapability[]): Pairing {
  const client = dialectOfApi[api];
  const [upstream = client] = rankUpstreams(
    client,
    target.apis.map((each) => upstreamDialectOfApi[each]),
  );
  const verdictOf = (headline: Headline) => judgeHeadline(client, upstream, headline);
  const judged = headlineNames.filter((headline) => isWanted(headline, declared));
  return {
    api,
    target: target.name,
    upstream: UPSTREAM_DIALECTS[upstream].api,
    isNative: client === upstream,
    lost: judged.filter((headline) => verdictOf(headline) === 'lossy'),
    refused: judged.filter((headline) => verdictOf(headline) === 'impossible'),
    unmet: declared.filter((capability) => {
      const { headline } = MODEL_CAPABILITIES[capability];
      return headline !== undefined && verdictOf(headline) === 'impossible';
    }),
  };
}

function isWanted(headline: Headline, declared: readonly ModelCapability[]): boolean {
  if (declared.length === 0 || !declarableHeadlines.has(headline)) return true;
  return declared.some((capability) => MODEL_CAPABILITIES[capability].headline === headline);
}
