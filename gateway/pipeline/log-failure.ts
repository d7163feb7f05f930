// By which names is a request told of in the log, when it fails for a fault of ours? By our own, and by its caller's.

import { readClientRequestId } from '../request/request-id.ts';
import type { PipelineParts } from './parts.ts';

interface NamedRequest {
  readonly requestId: string;
  /** Names and values in turn, as received. */
  readonly request: { readonly rawHeaders: readonly string[] };
}

export function logFailure(
  { onFailure }: Pick<PipelineParts, 'onFailure'>,
  { requestId, request }: NamedRequest,
  error: unknown,
): void {
  onFailure(error, requestId, readClientRequestId(request.rawHeaders));
}
