// What does the environment say to a Job that applies objects?

import { must, readApiServer } from '../api-server.ts';

interface ApplySettings {
  /** A JSON list of objects. */
  readonly objectsFile: string;
  /** Label selector: TenantPolicies with these labels that the file does not name are deleted. Undefined: none is. */
  readonly prune: string | undefined;
  readonly apiServer: ReturnType<typeof readApiServer>;
}

/** @throws {Error} naming the variable that is missing. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): ApplySettings {
  return {
    objectsFile: must(environment, 'PENSTOCK_OBJECTS'),
    prune: environment.PENSTOCK_PRUNE || undefined,
    apiServer: readApiServer(environment),
  };
}
