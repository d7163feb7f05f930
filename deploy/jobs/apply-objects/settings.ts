// Settings of the Job that applies objects, from the environment.

import { must, readApiServer } from '../api-server.ts';

interface ApplySettings {
  /** A JSON list of objects. */
  readonly objectsFile: string;
  /** Labels of the file's TenantPolicies; other policies with these labels are deleted. Undefined: none is. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly apiServer: ReturnType<typeof readApiServer>;
}

/** @throws {Error} naming the variable that is missing. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): ApplySettings {
  return {
    objectsFile: must(environment, 'PENSTOCK_OBJECTS'),
    labels: labelsIn(environment.PENSTOCK_LABELS),
    apiServer: readApiServer(environment),
  };
}

/** `name=value`, with commas between them. */
function labelsIn(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (!text) return undefined;
  return Object.fromEntries(text.split(',').map((label) => label.split('=')));
}
