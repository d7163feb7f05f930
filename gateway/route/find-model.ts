// Which route does this caller mean by that model name, and which may it see?

import { clientPathOf, type DialectName } from '../../core/catalog/dialects.ts';
import type { UnavailableRoute } from '../../core/contract/routing-table.ts';
import type { Caller } from '../request/caller.ts';
import { GatewayError, shorten } from '../request/errors.ts';
import {
  findRoute,
  type RouteIndex,
  type RouteView,
  type TableView,
  type UnavailableView,
} from '../table/view.ts';

/** The model is this caller's to use, and its route is out of service. Every table is compiled again when that changes. */
export class ModelUnavailableError extends GatewayError {
  readonly route: UnavailableRoute;

  constructor(model: string, route: UnavailableRoute) {
    const why =
      route.reason === 'Suspended'
        ? `ModelRoute ${route.id} is suspended. Retry later, or ask its owner to set spec.suspended: false.`
        : `no target of ModelRoute ${route.id} can be used. Ask its owner to correct what the conditions of the ModelRoute name, or retry later.`;
    super('model_unavailable', `The model '${shorten(model)}' is out of service: ${why}`, {
      param: 'model',
      retryAfterSeconds: unavailableForSeconds,
    });
    this.route = route;
  }
}

/** A person has to act, after an unknown time; a table that serves it again is in use a second later. */
const unavailableForSeconds = 10;

/**
 * @throws {GatewayError} `model_not_found`, in the same words whether the model does not exist, is
 * another tenant's, or is not allowed to this key. `model_unavailable` where its route is out of service.
 */
export function findModel(view: TableView, caller: Caller, model: string, endpoint: DialectName): RouteView {
  const route = findRoute(view.byModel, caller.namespace, model);
  if (!route || !isAllowed(caller, route)) throw noRoute(view, caller, model); // guard: model-hidden
  if (!route.entry.endpoints.includes(endpoint)) {
    throw new GatewayError(
      'model_not_found',
      `The model '${model}' is not served on this route; it is served on ${route.entry.endpoints.map(clientPathOf).join(', ')}.`,
      { param: 'model' },
    );
  }
  return route;
}

function noRoute({ unavailable }: TableView, caller: Caller, model: string): GatewayError {
  const route = findRoute(unavailable, caller.namespace, model);
  return route && isAllowed(caller, route)
    ? new ModelUnavailableError(model, route.entry)
    : modelNotFound(model);
}

/** The models that can be called: public ones without a caller, else all that the key may see. */
export function listModels(view: TableView, caller: Caller | undefined): readonly RouteView[] {
  // A tenant's own route hides a foreign one of the same name.
  return view.routes.filter((route) => findListed(view.byModel, caller, route.entry.model) === route);
}

/** The models that are out of service now. */
export function listUnavailable(view: TableView, caller: Caller | undefined): readonly UnavailableView[] {
  return view.unavailable.routes.filter(
    (route) => findListedModel(view, caller, route.entry.model) === route,
  );
}

/** The route with one id of the list, by model id or alias. */
export function findListedModel(
  view: TableView,
  caller: Caller | undefined,
  model: string,
): RouteView | UnavailableView | undefined {
  return findListed(view.byModel, caller, model) ?? findListed(view.unavailable, caller, model);
}

function findListed<R extends RouteView | UnavailableView>(
  routes: RouteIndex<R>,
  caller: Caller | undefined,
  model: string,
): R | undefined {
  if (!caller) return routes.shared.get(model)?.find(({ entry }) => entry.visibility === 'Public');
  const route = findRoute(routes, caller.namespace, model);
  return route && route.entry.visibility !== 'Hidden' && isAllowed(caller, route) ? route : undefined;
}

export function modelNotFound(model: string): GatewayError {
  return new GatewayError(
    'model_not_found',
    `The model '${model.slice(0, 256)}' does not exist, or this key may not use it. GET /v1/models lists the models of this key.`,
    { param: 'model' },
  );
}

/** Deny wins; an empty allow list allows everything visible. An alias is the same model. */
function isAllowed({ key }: Caller, { entry }: RouteView | UnavailableView): boolean {
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
