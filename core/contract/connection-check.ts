// What is asked of a gateway to test the connection to a provider that may not be saved yet, and what does it answer?

import { z } from 'zod';
import { upstreamApis } from '../catalog/dialects.ts';
import { isProviderType, optionsOf, typesThat } from '../catalog/provider-types.ts';

/** On the internal port of a gateway, beside the exchange and with its bearer; POST, JSON. */
export const CHECK_PATH = '/internal/v1/connection-check';

/** A gateway answers within this time, also where the provider does not. */
export const CHECK_TIMEOUT_MS = 8_000;
export const CHECK_MODELS_MAX = 500;

const addressSchema = z
  .string()
  .max(1024)
  .refine((text) => {
    const url = URL.parse(text);
    return (
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      `${url.username}${url.password}${url.search}${url.hash}` === ''
    );
  }, 'must be an http or https address without user, query and fragment');

export const checkQuestionSchema = z
  .strictObject({
    /** Decides which addresses may be reached, and which users may ask. */
    namespace: z.string().min(1).max(63),
    /** A saved Provider of this namespace: its keys, headers, certificates and proxy are used at its own address, and nowhere else. */
    provider: z.string().min(1).max(253).optional(),
    /** Needed without `provider`, as is `baseURL` where the type has no address. */
    type: z.enum(typesThat()).optional(),
    baseURL: addressSchema.optional(),
    apis: z.array(z.enum(upstreamApis)).max(upstreamApis.length).optional(),
    options: z.record(z.string().max(64), z.string().regex(/^[!-~]{1,256}$/)).optional(),
    /** As the user has just typed it; it is not stored. */
    key: z
      .string()
      .max(8192)
      .regex(/^[!-~]+$/, 'must have only ASCII characters, without spaces or line breaks')
      .optional(),
  })
  .refine(({ provider, type }) => provider !== undefined || type !== undefined, {
    path: ['type'],
    message: 'is required without provider',
  })
  .refine(
    ({ type, options = {} }) =>
      Object.keys(options).every(
        (name) => type !== undefined && isProviderType(type) && optionsOf(type).includes(name),
      ),
    { path: ['options'], message: 'has a key that the type does not know' },
  );
export type CheckQuestion = z.infer<typeof checkQuestionSchema>;

export const checkAnswerSchema = z.object({
  /**
   * - `works`: a valid answer.
   * - `odd`: an answer, but not the answer of a provider.
   * - `refused`: the provider refuses the key.
   * - `fails`: no answer, or an error.
   */
  outcome: z.enum(['works', 'odd', 'refused', 'fails']),
  /** Without secrets, and without a word of the provider. */
  message: z.string(),
  status: z.int().optional(),
  latencyMs: z.int().min(0),
  /** Absent: it lists none. */
  models: z.array(z.string()).max(CHECK_MODELS_MAX).optional(),
  /** Models beyond those. */
  more: z.int().min(0).optional(),
});
export type CheckAnswer = z.infer<typeof checkAnswerSchema>;
