// What does the operator see of an object? The builders of `make`, checked and with every default filled in.

import { type ApiKey, parseApiKey } from '../../operator/resources/api-key.ts';
import { type ModelRoute, parseModelRoute } from '../../operator/resources/model-route.ts';
import type { Parsed } from '../../operator/resources/parse.ts';
import { type Provider, parseProvider } from '../../operator/resources/provider.ts';
import { type Differing, make } from './make.ts';

/** The same arguments as `make`. Throws when what differs makes the object invalid, and names the field. */
export const makeParsed = {
  provider: (spec?: Differing, metadata?: Differing): Provider =>
    checked(parseProvider(make.provider(spec, metadata))),
  route: (spec?: Differing, metadata?: Differing): ModelRoute =>
    checked(parseModelRoute(make.route(spec, metadata))),
  key: (spec?: Differing, metadata?: Differing): ApiKey => checked(parseApiKey(make.key(spec, metadata))),
};

function checked<T>(parsed: Parsed<T>): T {
  if (parsed.ok) return parsed.value;
  throw new Error(`A test made an invalid object: ${JSON.stringify(parsed.problems)}`);
}
