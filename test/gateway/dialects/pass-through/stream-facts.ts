// What does the gateway know of a request for a stream that passes through?

import type { RequestFacts } from '../../../../gateway/dialects/dialect.ts';

export const streamFacts: RequestFacts = { model: 'm', isStream: true, wantsUsage: false, choices: 1 };
