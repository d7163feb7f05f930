// What does the caller of a drill ask, or of a plan without a request? The least that a dialect takes. In drills as a stream: most calls
// are streams, and what can go wrong with a plain answer can go wrong with them.

import type { DialectName } from '../../core/catalog/dialects.ts';
import { smallestRequest } from '../../core/catalog/smallest-request.ts';
import { RequestBody } from '../json/request-body.ts';

const question = 'Are you there?';
const tokensMax = 16;

export function syntheticRequest(dialect: DialectName, model: string, stream = true): RequestBody {
  const request = { model, ...smallestRequest(dialect, question, { tokensMax }), stream };
  const body = new RequestBody([Buffer.from(JSON.stringify(request))]);
  body.parse();
  return body;
}
