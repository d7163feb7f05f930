// What does the environment say to the Pod of `helm test`?

export interface HelmTestSettings {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** Without them no completion is asked for. */
  readonly completion: { readonly keyFile: string; readonly model: string } | undefined;
  /** For a fresh pod's network, a table that is being taken, a key that was made a moment ago. */
  readonly patienceMs: number;
}

/** @throws {Error} naming the variable that is missing. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): HelmTestSettings {
  const { PENSTOCK_BASE_URL: baseUrl, PENSTOCK_KEY_FILE: keyFile, PENSTOCK_MODEL: model } = environment;
  if (!baseUrl) throw new Error('PENSTOCK_BASE_URL is missing from the environment');
  return {
    baseUrl,
    completion: keyFile && model ? { keyFile, model } : undefined,
    patienceMs: Number(environment.PENSTOCK_PATIENCE_MS ?? 60_000),
  };
}
