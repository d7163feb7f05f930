// Which client can call which model? As the catalog has it; what it says nothing of may be tried.

import type { ModelWords } from '../models/catalog.ts';
import type { DialectName } from '../words/choices.ts';

type Callable = Pick<ModelWords, 'id' | 'dialects'>;
interface Client {
  readonly id: string;
  readonly dialect: DialectName;
}

/** How a model answered lately, as the ledger counts its attempts. */
export interface Lately {
  readonly model?: string;
  readonly attempts: number;
  readonly outcomes: { readonly answered?: number };
}

/** Models that answered lately first, then models without calls, then models that mostly fail; else in their order. */
export function answeringFirst<Model extends { readonly id: string }>(
  models: readonly Model[],
  lately: readonly Lately[],
): readonly Model[] {
  const rank = ({ id }: Model) => {
    const { attempts = 0, outcomes } = lately.find(({ model }) => model === id) ?? {};
    // A spare that answers for a dead target is an answer.
    return attempts === 0 ? 1 : (outcomes?.answered ?? 0) * 4 >= attempts ? 0 : 2;
  };
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/** Models without a price last: keys with a budget cannot call them. */
export function pricedFirst<Model extends Pick<ModelWords, 'price' | 'isOwn'>>(
  models: readonly Model[],
): readonly Model[] {
  const rank = ({ price, isOwn }: Model) => Number(price === undefined && !isOwn);
  return models.toSorted((a, b) => rank(a) - rank(b));
}

/** @param model undefined: nothing is known of it. */
export function canCall(model: Callable | undefined, dialect: DialectName): boolean {
  return model?.dialects.find(({ name }) => name === dialect)?.verdict !== 'impossible';
}

/**
 * The first selection, and the one after a person has picked one of them: a model that the client can call, and a client that can call the
 * model. A model that was picked stays.
 */
export function pairOf<Model extends Callable, One extends Client>(
  models: readonly Model[],
  clients: readonly One[],
  picked: { readonly model: string; readonly client: string },
): { readonly model: Model | undefined; readonly client: One | undefined } {
  const wanted = clients.find(({ id }) => id === picked.client);
  const model =
    models.find(({ id }) => id === picked.model) ??
    models.find((one) => wanted !== undefined && canCall(one, wanted.dialect)) ??
    models.find((one) => clients.some(({ dialect }) => canCall(one, dialect))) ??
    models[0];
  const able = clients.filter(({ dialect }) => canCall(model, dialect));
  return { model, client: able.find((one) => one === wanted) ?? able[0] };
}
