// What does the environment say to the Job of the demo?

export interface ApplySettings {
  /** A JSON list of objects. */
  readonly objectsFile: string;
  readonly serviceAccountFolder: string;
  readonly apiHost: string;
  readonly apiPort: number;
}

/** @throws {Error} naming the variable that is missing. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): ApplySettings {
  return {
    objectsFile: must(environment, 'PENSTOCK_DEMO_OBJECTS'),
    serviceAccountFolder:
      environment.PENSTOCK_SERVICE_ACCOUNT_DIR ?? '/var/run/secrets/kubernetes.io/serviceaccount',
    apiHost: must(environment, 'KUBERNETES_SERVICE_HOST'),
    apiPort: Number(must(environment, 'KUBERNETES_SERVICE_PORT')),
  };
}

function must(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name];
  if (value === undefined || value === '') throw new Error(`${name} is missing from the environment`);
  return value;
}
