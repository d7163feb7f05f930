// Which route does this caller mean by that model name, and which may it see?

import { clientPathOf, type DialectName } from '../../core/catalog/dialects.ts';
import type { Caller } from '../request/caller.ts';
import { GatewayError } from '../request/errors.ts';
import { findRoute, type RouteView, type TableView } from '../table/view.ts';

/**
 * @throws {GatewayError} `model_not_found`, in the same words whether the model does not exist, is
 * another tenant's, or is not allowed to this key.
 */
export function findModel(view: TableView, caller: Caller, model: string, endpoint: DialectName): RouteView {
  const route = findRoute(view, caller.namespace, model);
  if (!route || !isAllowed(caller, route)) throw modelNotFound(model); // guard: model-hidden
  if (!route.entry.endpoints.includes(endpoint)) {
    throw new GatewayError(
      'model_not_found',
      `The model '${model}' is not served on this route; it is served on ${route.entry.endpoints.map(clientPathOf).join(', ')}.`,
      { param: 'model' },
    );
  }
  return route;
}

/** The models of the list: public ones without a caller, else all that the key may see. */
export function listModels(view: TableView, caller: Caller | undefined): readonly RouteView[] {
  // A tenant's own route hides a foreign one of the same name.
  return view.routes.filter((route) => findListedModel(view, caller, route.entry.model) === route);
}

/** The route behind one id of the list, by model id or alias. */
export function findListedModel(
  view: TableView,
  caller: Caller | undefined,
  model: string,
): RouteView | undefined {
  if (!caller) return view.sharedRoutes.get(model)?.find(({ entry }) => entry.visibility === 'Public');
  const route = findRoute(view, caller.namespace, model);
  return route && route.entry.visibility !== 'Hidden' && isAllowed(caller, route) ? route : undefined;
}

export function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    'model_not_found',
    `The model '${model.slice(0, 256)}' does not exist or is not allowed to this key. GET /v1/models lists what is.`,
    { param: 'model' },
  );
}

/** Deny wins; an empty allow list allows everything visible. An alias is the same model. */
function isAllowed({ key }: Caller, { entry }: RouteView): boolean {
  const rules = key.models;
  if (!rules) return true;
  const ids = [entry.model, ...entry.aliases];
  const isMatched = (pattern: string): boolean => ids.some((id) => matches(pattern, id));
  if (rules.deny.some(isMatched)) return false;
  return rules.allow.length === 0 || rules.allow.some(isMatched);
}

function matches(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : pattern === model;
}
