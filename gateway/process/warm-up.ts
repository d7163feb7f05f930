// Which work does a process do before its first caller? It reads and translates one request of each dialect: V8 is slow on code that it sees
// for the first time, and a pod that has just become ready gets its share of the load at once.

import { dialectNames, upstreamDialectNames } from '../../core/catalog/dialects.ts';
import { smallestRequest } from '../../core/catalog/smallest-request.ts';
import { findDialect } from '../dialects/registry.ts';
import { parseBody } from '../endpoints/parse-body.ts';

export function warmUp(): void {
  for (const name of dialectNames) {
    const dialect = findDialect(name);
    const sample = { model: 'm', stream: true, ...smallestRequest(name, 'x', { form: 'turns' }) };
    const body = parseBody([Buffer.from(JSON.stringify(sample))]);
    dialect.readRequest(body);
    dialect.translate(body, { upstreams: new Set(upstreamDialectNames), header: () => undefined });
  }
}
