// Settings of the Pod of `helm test`, from the environment.

import { must, readApiServer } from '../api-server.ts';

/** Of an object of the cluster. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

export type KeyPlace =
  | { readonly type: 'file'; readonly path: string }
  /** As the operator issues them. */
  | { readonly type: 'secret'; readonly secret: Place };

export interface HelmTestSettings {
  /** With `/v1`. */
  readonly baseUrl: string;
  /** Of the gateways; its host leads to all that are ready. */
  readonly metricsUrl: string;
  /** Without them no completion is asked for. */
  readonly completion: { readonly key: KeyPlace; readonly model: string } | undefined;
  /** For a fresh pod's network, a table that is being taken, a key that was made a moment ago, a sign of life. */
  readonly patienceMs: number;
  /** This Pod; absent where it runs outside of a cluster. */
  readonly pod: Place | undefined;
  /** @throws {Error} naming the variable that is missing. */
  apiServer(): ReturnType<typeof readApiServer>;
}

/** @throws {Error} naming the variable that is missing or wrong. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): HelmTestSettings {
  const model = environment.PENSTOCK_MODEL;
  const key = keyPlaceOf(environment);
  return {
    baseUrl: must(environment, 'PENSTOCK_BASE_URL'),
    metricsUrl: must(environment, 'PENSTOCK_METRICS_URL'),
    completion: key && model ? { key, model } : undefined,
    patienceMs: Number(environment.PENSTOCK_PATIENCE_MS ?? 60_000),
    pod: placeOf(environment, 'PENSTOCK_POD'),
    apiServer: () => readApiServer(environment),
  };
}

function keyPlaceOf(environment: NodeJS.ProcessEnv): KeyPlace | undefined {
  if (environment.PENSTOCK_KEY_FILE) return { type: 'file', path: environment.PENSTOCK_KEY_FILE };
  const secret = placeOf(environment, 'PENSTOCK_KEY_SECRET');
  return secret && { type: 'secret', secret };
}

function placeOf(environment: NodeJS.ProcessEnv, variable: string): Place | undefined {
  const text = environment[variable];
  if (!text) return undefined;
  const [namespace, name] = text.split('/');
  if (!namespace || !name) throw new Error(`${variable} must be <namespace>/<name>, not ${text}`);
  return { namespace, name };
}
