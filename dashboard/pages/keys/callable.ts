// Which client can call which model? As the catalog has it; what it says nothing of may be tried.

import type { ModelWords } from '../models/catalog.ts';
import type { DialectName } from '../words/choices.ts';

type Callable = Pick<ModelWords, 'id' | 'dialects'>;
interface Client {
  readonly id: string;
  readonly dialect: DialectName;
}

/** @param model undefined: nothing is known of it. */
export function canCall(model: Callable | undefined, dialect: DialectName): boolean {
  return model?.dialects.find(({ name }) => name === dialect)?.verdict !== 'impossible';
}

/**
 * What stands there at first, and after somebody has picked one of them: a model that the client can call, and a client that can call the
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
