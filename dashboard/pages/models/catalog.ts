// What is in the catalog? The models as `GET /v1/models` lists them for a caller, and how each client dialect is served.

import { DIALECTS, type DialectName } from '../words/choices.ts';
import type { Tone } from '../words/conditions.ts';
import { perMillion } from '../words/format.ts';
import type { ModelRoute } from '../words/kube.ts';

export interface Catalog {
  readonly generation?: number;
  readonly models: readonly CatalogModel[];
}

interface CatalogModel {
  readonly id: string;
  readonly display_name?: string;
  readonly description?: string;
  readonly owned_by: string;
  /** The tenant's own provider serves it. */
  readonly own: boolean;
  /** Dollars per token as decimal strings; null: not known. */
  readonly pricing?: Pricing | null;
  readonly context_length?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly dialects: { readonly [Name in DialectName]?: Dialect };
}

interface Pricing {
  readonly prompt: string;
  readonly completion: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  /** Dollars, on top of the tokens. */
  readonly request?: string;
  /** Capacity is paid for by the hour, and calls cost nothing. */
  readonly provisioned?: true;
  /** Prices for longer inputs, from the lowest bound on. */
  readonly tiers?: readonly { readonly above: number }[];
}

export type Verdict = 'native' | 'translated' | 'lossy' | 'impossible';

interface Dialect {
  readonly verdict: Verdict;
  readonly lostFields: readonly string[];
}

export interface ModelWords {
  readonly id: string;
  readonly displayName: string;
  readonly description: string | undefined;
  readonly ownedBy: string;
  readonly isOwn: boolean;
  /** Dollars per million tokens; undefined: not known. */
  readonly price:
    | {
        readonly input: string;
        readonly output: string;
        readonly cached: string | undefined;
        /** Of each request, on top of its tokens. */
        readonly request: string | undefined;
        /** Capacity is paid for by the hour: calls cost nothing. */
        readonly isProvisioned: boolean;
        /** Input tokens from which on there are other prices. */
        readonly tiersAbove: number | undefined;
      }
    | undefined;
  readonly contextTokens: number | undefined;
  readonly outputTokensMax: number | undefined;
  readonly dialects: readonly (Dialect & { readonly name: DialectName })[];
}

export function modelsOf({ models }: Catalog): readonly ModelWords[] {
  return models.map((model) => ({
    id: model.id,
    displayName: model.display_name ?? model.id,
    description: model.description,
    ownedBy: model.owned_by,
    isOwn: model.own,
    price: model.pricing
      ? {
          input: perMillion(model.pricing.prompt),
          output: perMillion(model.pricing.completion),
          cached: model.pricing.input_cache_read && perMillion(model.pricing.input_cache_read),
          request: model.pricing.request,
          isProvisioned: model.pricing.provisioned === true,
          tiersAbove: model.pricing.tiers?.[0]?.above,
        }
      : undefined,
    contextTokens: model.context_length ?? undefined,
    outputTokensMax: model.max_completion_tokens ?? undefined,
    dialects: (Object.keys(DIALECTS) as DialectName[]).flatMap((name) => {
      const dialect = model.dialects[name];
      return dialect === undefined ? [] : [{ name, ...dialect }];
    }),
  }));
}

/** A route that the reader may see, and what came of a model's attempts; of models of others the catalog alone is known. */
export interface ModelRow extends ModelWords {
  /** Of the key that would call it. */
  readonly namespace: string;
  readonly route: ModelRoute | undefined;
  readonly use: ModelUse | undefined;
}

/** The ledger's row of one model. */
export interface ModelUse {
  readonly model?: string;
  readonly requests: number;
  readonly attempts: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Absent: it streamed nothing. */
  readonly firstContentMs?: { readonly p50: number; readonly p90: number };
}

/**
 * @param catalogs of one namespace: all that its keys may call. Of several: what the routes of each serve, so that a model that many
 * may call is there once.
 */
export function modelRows(
  catalogs: readonly { readonly namespace: string; readonly catalog: Catalog }[],
  routes: readonly ModelRoute[],
  uses: readonly ModelUse[],
): readonly ModelRow[] {
  const routeOf = (id: string, namespace: string) =>
    routes.find(({ spec, metadata }) => spec.model === id && metadata.namespace === namespace);
  const rows = catalogs.flatMap(({ namespace, catalog }) =>
    modelsOf(catalog).map((model) => ({
      ...model,
      namespace,
      route:
        routeOf(model.id, namespace) ??
        // A tenant's own ids come first; of the platform's, one route alone has the id.
        (model.isOwn ? undefined : routes.find(({ spec }) => spec.model === model.id)),
      use: uses.find((use) => use.model === model.id),
    })),
  );
  return catalogs.length === 1
    ? rows
    : rows.filter(({ route, namespace }) => route?.metadata.namespace === namespace);
}

/** Names of its Providers, in the order of the targets. */
export function providersOf(route: ModelRoute): readonly string[] {
  const inOrder = route.spec.targets.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
  return [...new Set(inOrder.map(({ providerRef }) => providerRef.name))];
}

export function verdictWords(verdict: Verdict): { readonly word: string; readonly tone: Tone } {
  return {
    native: { word: 'native', tone: 'good' as const },
    translated: { word: 'translated', tone: 'good' as const },
    lossy: { word: 'lossy', tone: 'warn' as const },
    impossible: { word: 'not possible', tone: 'off' as const },
  }[verdict];
}
