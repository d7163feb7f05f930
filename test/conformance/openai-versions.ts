// Which OpenAI SDKs does everything have to work with? The current major version and the one before.

import OpenAI from 'openai';
import * as zodHelpers from 'openai/helpers/zod';
import OpenAI6 from 'openai-6';
import * as zodHelpers6 from 'openai-6/helpers/zod';
import { testKey } from '../gateway/rig.ts';
import type { ClientWatch } from './client-watch.ts';
import { everyUpstream, type Upstream, upstreams } from './every-upstream.ts';

export interface OpenAiVersion {
  /** Where it is tried: the older one at the dialects alone. */
  readonly upstreams: readonly Upstream[];
  readonly connect: (
    baseURL: string,
    watch: ClientWatch,
    options?: { apiKey?: string; maxRetries?: number },
  ) => OpenAI;
  readonly zodResponseFormat: typeof zodHelpers.zodResponseFormat;
  readonly zodTextFormat: typeof zodHelpers.zodTextFormat;
}

// Private members keep classes of two versions from fitting each other in types; what is used here has the same form in both.
const olderSdk = OpenAI6 as unknown as typeof OpenAI;
const olderHelpers = zodHelpers6 as unknown as typeof zodHelpers;

export const openAiVersions: readonly (readonly [name: string, version: OpenAiVersion])[] = [
  ['openai 7', versionOf(OpenAI, zodHelpers, everyUpstream)],
  ['openai 6', versionOf(olderSdk, olderHelpers, upstreams)],
];

function versionOf(
  Sdk: typeof OpenAI,
  helpers: typeof zodHelpers,
  tried: readonly Upstream[],
): OpenAiVersion {
  return {
    upstreams: tried,
    connect: (baseURL, watch, options = {}) =>
      new Sdk({ baseURL, apiKey: testKey, fetch: watch.fetch, ...options }),
    zodResponseFormat: helpers.zodResponseFormat,
    zodTextFormat: helpers.zodTextFormat,
  };
}

/** What is known of an error, whichever version raised it. */
export interface Raised {
  readonly name: string;
  readonly status: number | undefined;
  readonly code: string | null | undefined;
  readonly param: string | null | undefined;
  readonly message: string;
  readonly requestId: string | null | undefined;
  readonly retryAfter: string | null | undefined;
}

/** The error of a call that has to fail, by the SDK's own class. */
export async function raisedBy(call: Promise<unknown>): Promise<Raised> {
  try {
    await call;
  } catch (error) {
    for (const { APIError } of [OpenAI, olderSdk]) {
      if (!(error instanceof APIError)) continue;
      return {
        name: error.constructor.name,
        status: error.status,
        code: error.code,
        param: error.param,
        message: error.message,
        requestId: error.requestID,
        retryAfter: error.headers?.get('retry-after'),
      };
    }
    throw error;
  }
  throw new Error('nothing was raised');
}
