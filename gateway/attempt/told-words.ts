// Which of an upstream's words may be told on?

import type { UpstreamError } from '../dialects/dialect.ts';
import { mapTexts } from '../json/map-texts.ts';
import type { AttemptEnds } from './ends.ts';
import type { AttemptFailure } from './failure.ts';

/** Callers are told an upstream's own words, and some upstreams repeat the key they were sent. */
export function toldOf(
  failure: AttemptFailure,
  ends: Pick<AttemptEnds<unknown>, 'speaksForeign' | 'redact'>,
): AttemptFailure {
  const redact = (text: string): string => ends.redact?.(text) ?? text;
  const clean = (error: UpstreamError): UpstreamError => ({
    ...error,
    ...(ends.speaksForeign ? { isForeign: true } : {}),
    message: redact(error.message),
    type: error.type && redact(error.type),
    code: error.code && redact(error.code),
    param: error.param && redact(error.param),
    ...(error.details ? { details: mapTexts(error.details, redact) } : {}),
  });
  if (failure.kind === 'status') return { ...failure, error: clean(failure.error) };
  if (failure.kind !== 'answer') return failure;
  // It may name what stands in a header.
  if ('detail' in failure.fault) {
    return { ...failure, fault: { ...failure.fault, detail: redact(failure.fault.detail) } };
  }
  if (failure.fault.kind !== 'error-event') return failure;
  return { ...failure, fault: { ...failure.fault, error: clean(failure.fault.error) } };
}
