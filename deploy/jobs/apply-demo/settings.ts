// What does the environment say to the Job of the demo?

import { must, readApiServer } from '../api-server.ts';

interface ApplySettings {
  /** A JSON list of objects. */
  readonly objectsFile: string;
  readonly apiServer: ReturnType<typeof readApiServer>;
}

/** @throws {Error} naming the variable that is missing. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): ApplySettings {
  return {
    objectsFile: must(environment, 'PENSTOCK_DEMO_OBJECTS'),
    apiServer: readApiServer(environment),
  };
}
