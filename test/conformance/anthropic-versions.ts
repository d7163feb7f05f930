// Which Anthropic SDKs does everything have to work with? One for each version of the API.

import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import Anthropic0 from 'anthropic-sdk-0';
import { betaTool as betaTool0 } from 'anthropic-sdk-0/helpers/beta/json-schema';
import { zodOutputFormat as zodOutputFormat0 } from 'anthropic-sdk-0/helpers/zod';
import { testKey } from '../gateway/rig.ts';
import type { ClientWatch } from './client-watch.ts';
import { everyUpstream, type Upstream, upstreams } from './every-upstream.ts';

export interface AnthropicVersion {
  /** Where it is tried: the older one at the dialects alone. */
  readonly upstreams: readonly Upstream[];
  readonly connect: (
    baseURL: string,
    watch: ClientWatch,
    options?: { apiKey?: string; maxRetries?: number },
  ) => Anthropic;
  readonly zodOutputFormat: typeof zodOutputFormat;
  readonly betaTool: typeof betaTool;
  /** What it raises for a 529. */
  readonly overloadedName: string;
}

// Private members keep classes of two versions from fitting each other in types; what is used here has the same form in both.
const olderSdk = Anthropic0 as unknown as typeof Anthropic;
const olderHelpers = { zodOutputFormat: zodOutputFormat0, betaTool: betaTool0 } as unknown as Pick<
  AnthropicVersion,
  'zodOutputFormat' | 'betaTool'
>;

export const anthropicVersions: readonly (readonly [name: string, version: AnthropicVersion])[] = [
  [
    'anthropic 1, of 2026-10-21',
    {
      upstreams: everyUpstream,
      connect: connectWith(Anthropic),
      zodOutputFormat,
      betaTool,
      overloadedName: 'OverloadedError',
    },
  ],
  [
    'anthropic 0, of 2023-06-01',
    { upstreams, connect: connectWith(olderSdk), ...olderHelpers, overloadedName: 'InternalServerError' },
  ],
];

function connectWith(Sdk: typeof Anthropic): AnthropicVersion['connect'] {
  return (baseURL, watch, options = {}) =>
    new Sdk({ baseURL, apiKey: testKey, fetch: watch.fetch, ...options });
}

/** What is known of an error, whichever version raised it. */
export interface Raised {
  readonly name: string;
  readonly status: number | undefined;
  readonly message: string;
  /** The body of the error, where there is one. */
  readonly body: unknown;
  readonly requestId: string | null | undefined;
  readonly retryAfter: string | null | undefined;
}

/** The error of a call that has to fail, by the SDK's own class. */
export async function raisedBy(call: Promise<unknown>): Promise<Raised> {
  try {
    await call;
  } catch (error) {
    for (const { AnthropicError, APIError } of [Anthropic, olderSdk]) {
      if (!(error instanceof AnthropicError)) continue;
      const reported = error instanceof APIError ? error : undefined;
      return {
        name: error.constructor.name,
        status: reported?.status,
        message: error.message,
        body: reported?.error,
        requestId: reported?.requestID,
        retryAfter: reported?.headers?.get('retry-after'),
      };
    }
    throw error;
  }
  throw new Error('nothing was raised');
}
