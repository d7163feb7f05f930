// Which model was a request for that was refused before any upstream was asked? For the refusals that are counted.

import { GatewayError } from '../request/errors.ts';
import { findModel, ModelUnavailableError } from '../route/find-model.ts';
import type { Asking } from './parts.ts';

export interface Unasked {
  /** As the caller wrote it; undefined: it is not known. */
  readonly model?: string | undefined;
  /** Which it leads to. */
  readonly route?: { readonly id: string; readonly model: string } | undefined;
}

/** Of a request that could not be routed. */
export function unaskedOf(
  { body, view, caller, dialect }: Pick<Asking, 'body' | 'view' | 'caller' | 'dialect'>,
  error: unknown,
): Unasked {
  if (error instanceof ModelUnavailableError) return { route: error.route };
  const model = modelOf(body);
  if (model === undefined) return {};
  try {
    return { model, route: findModel(view, caller, model, dialect.name).entry };
  } catch (notFound) {
    if (notFound instanceof GatewayError) return { model };
    throw notFound;
  }
}

function modelOf(body: Asking['body']): string | undefined {
  const member = body.member('model');
  if (member === undefined) return undefined;
  try {
    const value = body.read(member);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
