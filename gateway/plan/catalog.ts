// Which models are there for a key, and what becomes of each client dialect at them? As GET /v1/models tells them, with the verdicts that
// the operator's condition Translatable is made of.

import {
  type Headline,
  headlineNames,
  judgeHeadline,
  rankUpstreams,
} from '../../core/catalog/capabilities.ts';
import { DIALECTS, type DialectName, dialectNames, type Spoken } from '../../core/catalog/dialects.ts';
import {
  declarableHeadlines,
  isModelCapability,
  MODEL_CAPABILITIES,
} from '../../core/catalog/model-capabilities.ts';
import type { CatalogAnswer, Verdict } from '../../core/contract/plan.ts';
import { describeModel, isOwnModel } from '../endpoints/models.ts';
import type { Caller } from '../request/caller.ts';
import { listModels } from '../route/find-model.ts';
import type { RouteView, TableView, TargetView } from '../table/view.ts';

type Model = CatalogAnswer['models'][number];
type SpokenVerdict = Model['dialects'][Spoken];

export function describeCatalog(view: TableView, caller: Caller): readonly Model[] {
  return listModels(view, caller).map((route) => ({
    ...describeModel(route, caller, route.entry.model),
    own: isOwnModel(route, caller),
    dialects: Object.fromEntries(
      dialectNames.map((client) => [DIALECTS[client].spoken, judgeDialect(route, client)]),
    ) as Model['dialects'],
  }));
}

/** A target that cannot serve a dialect is passed over where others can. */
function judgeDialect({ entry, targets }: RouteView, client: DialectName): SpokenVerdict {
  const impossible: SpokenVerdict = { verdict: 'impossible', lostFields: [] };
  if (!entry.endpoints.includes(client)) return impossible;
  const used = targets.filter((target) => target.entry.weight > 0);
  const found = used.map((target) => judgeTarget(client, target, wantedOf(entry.capabilities)));
  const possible = found.filter(({ verdict }) => verdict !== 'impossible');
  const verdicts = possible.length > 0 ? possible : found;
  if (verdicts.length === 0) return impossible;
  const verdict = gravity.findLast((word) => verdicts.some((one) => one.verdict === word)) ?? 'impossible';
  return { verdict, lostFields: [...new Set(verdicts.flatMap(({ lostFields }) => lostFields))].sort() };
}

/** The worst last. */
const gravity: readonly Verdict[] = ['native', 'translated', 'lossy', 'impossible'];

function judgeTarget(client: DialectName, { entry }: TargetView, wanted: Wanted): SpokenVerdict {
  const [upstream] = rankUpstreams(client, entry.dialects);
  if (upstream === undefined) return { verdict: 'impossible', lostFields: [] };
  if (upstream === client) return { verdict: 'native', lostFields: [] };
  const of = (word: Verdict) =>
    wanted.headlines.filter((headline) => judgeHeadline(client, upstream, headline) === word);
  const refused = of('impossible');
  const lostFields = [...of('lossy'), ...refused];
  if (refused.some((headline) => wanted.declared.has(headline))) return { verdict: 'impossible', lostFields };
  return { verdict: lostFields.length > 0 ? 'lossy' : 'translated', lostFields };
}

interface Wanted {
  /** What the model can do, or may. */
  readonly headlines: readonly Headline[];
  /** What its ModelRoute says that it can. */
  readonly declared: ReadonlySet<Headline>;
}

/** A model without stated capabilities may have all of them. */
function wantedOf(capabilities: readonly string[]): Wanted {
  const declared = new Set(
    capabilities.filter(isModelCapability).flatMap((name) => MODEL_CAPABILITIES[name].headline ?? []),
  );
  return {
    headlines:
      capabilities.length === 0
        ? headlineNames
        : headlineNames.filter((headline) => !declarableHeadlines.has(headline) || declared.has(headline)),
    declared,
  };
}
