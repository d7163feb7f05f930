// Which changes of a stored object are taken, and which are refused?

import type { RawObject } from '../../../operator/watch/snapshot.ts';
import { apiKey, provider, route, target } from '../../operator/make.ts';

export interface Change {
  readonly what: string;
  readonly before: RawObject;
  readonly after: RawObject;
  /** Absent where it is taken. */
  readonly refused?: { readonly field: string; readonly says: string };
}

const secret = (fields: object) => apiKey({ secret: fields });
const fixedType = { field: 'spec.type', says: 'type cannot be changed; create a new object instead' };
const fixedModel = { field: 'spec.model', says: 'model cannot be changed; create a new object instead' };
const fixedName = { field: 'spec', says: 'secret.name cannot be changed; create a new ApiKey instead' };
const fixedKey = { field: 'spec', says: 'secret.key cannot be changed; create a new ApiKey instead' };

export const CHANGES: readonly Change[] = [
  {
    what: 'a Provider becomes another type',
    before: provider(),
    after: provider({ type: 'Mistral' }),
    refused: fixedType,
  },
  {
    what: 'a route gets another id',
    before: route(),
    after: route({ model: 'chat-2' }),
    refused: fixedModel,
  },
  {
    what: 'a Secret gets another name',
    before: secret({ name: 'a' }),
    after: secret({ name: 'b' }),
    refused: fixedName,
  },
  {
    what: 'a Secret gets a name later',
    before: secret({}),
    after: secret({ name: 'b' }),
    refused: fixedName,
  },
  { what: 'a Secret loses its name', before: secret({ name: 'a' }), after: secret({}), refused: fixedName },
  { what: 'a named Secret is left out', before: secret({ name: 'a' }), after: apiKey(), refused: fixedName },
  { what: 'a Secret without a name is left out', before: secret({ labels: { a: 'b' } }), after: apiKey() },
  {
    what: 'attributes are written by their old name',
    before: apiKey({ attributes: { app: 'ci' } }),
    after: apiKey({ metadata: { app: 'ci' } }),
    refused: {
      field: 'spec.metadata',
      says: 'is now named attributes; write spec.attributes instead of spec.metadata',
    },
  },
  {
    what: 'a key moves to another entry of its Secret',
    before: secret({ key: 'token' }),
    after: secret({ key: 'api-token' }),
    refused: fixedKey,
  },
  {
    what: 'a key gets an entry of its own later',
    before: apiKey(),
    after: secret({ key: 'token' }),
    refused: fixedKey,
  },
  {
    what: 'the entry of a key is left out',
    before: secret({ key: 'token' }),
    after: secret({}),
    refused: fixedKey,
  },
  {
    what: 'a Secret is left out, and the entry of its key with it',
    before: secret({ key: 'token' }),
    after: apiKey(),
    refused: fixedKey,
  },
  {
    what: 'the entry of a key is said to be the usual one',
    before: apiKey(),
    after: secret({ key: 'apiKey' }),
  },
  {
    what: 'a Secret gets labels',
    before: secret({ name: 'a' }),
    after: secret({ name: 'a', labels: { b: 'c' } }),
  },
  { what: 'a key is disabled', before: apiKey(), after: apiKey({ disabled: true }) },
  { what: 'a Provider moves', before: provider(), after: provider({ baseURL: 'https://a.example/v1' }) },
  { what: 'a target is renamed', before: route(), after: route({ targets: [target({ name: 'other' })] }) },
  {
    what: 'a change breaks a rule that held',
    before: route(),
    after: route({ targets: [target({ weight: 0 })] }),
    refused: { field: 'spec.targets', says: 'at least one target needs a weight above 0' },
  },
];
