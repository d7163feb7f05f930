// A model answers: the operation that most requests ask for.
//
// Reads: the top-level members of a request, and all of it where it is translated.
// Limited: takes a place, and tokens by an estimate that is settled by what was used (pipeline/limits.ts).
// Metered: each attempt is a ledger record, each request counts in the metrics of requests.
// Failed over: as its route says, up to the commit point (attempt/call.ts).
// Answered: in one piece or as a stream, in the dialect of the client (pipeline.ts).

import { readsWhole } from '../../pipeline/route-exchange.ts';
import { serve } from '../../pipeline.ts';
import type { Operation } from '../operation.ts';

export const generate: Operation = {
  name: 'generate',
  mustParse: readsWhole,
  countsRefusals: true,
  serve,
};
