// What do the schema and its texts say of provider types? Read off the rows of the catalogue.

import type { CloudName } from '../../core/catalog/clouds.ts';
import {
  optionsOf,
  PROVIDER_TYPES,
  type ProviderType,
  typesThat,
} from '../../core/catalog/provider-types.ts';
import { inWords } from './in-words.ts';

export const typesWithoutAddress = typesThat(({ baseUrl }) => baseUrl === undefined);
export const typesWithoutApis = typesThat(({ apis }) => apis === undefined);
/** Types that take identities and credentials of the cloud. */
export const typesOf: Readonly<Record<CloudName, readonly ProviderType[]>> = {
  AWS: typesThat(({ signIn }) => signIn === 'AWS'),
  GCP: typesThat(({ signIn }) => signIn === 'GCP'),
  Azure: typesThat(({ signIn }) => signIn === 'Azure'),
};
/** Types whose models are in a project of the cloud. */
export const typesInProject = typesThat(({ settings }) => settings?.project !== undefined);
export const selfHostedTypes = typesThat(({ isSelfHosted }) => isSelfHosted === true);

/** A CEL expression, true where the spec is of one of them. */
export function celIsOneOf(types: readonly ProviderType[]): string {
  return types.length === 1 ? `self.type == '${types[0]}'` : `self.type in [${types.map(quoted).join(', ')}]`;
}

/** A CEL expression, true where the spec is of none of them. */
export function celIsNoneOf(types: readonly ProviderType[]): string {
  return types.length === 1 ? `self.type != '${types[0]}'` : `!(${celIsOneOf(types)})`;
}

/** `the type A`, `the types A and B`. */
export function theTypes(types: readonly ProviderType[]): string {
  return `the type${types.length === 1 ? '' : 's'} ${inWords(types)}`;
}

/** What most types speak is said once. */
export function defaultApis(): string {
  const usual = 'ChatCompletions';
  const own = typesThat(({ apis = [] }) => apis.length > 0 && inWords(apis) !== usual);
  return [
    ...own.map((type) => `${type} ${inWords(PROVIDER_TYPES[type].apis ?? [])}`),
    `others ${usual}`,
  ].join(', ');
}

export function knownOptions(): string {
  return typesThat()
    .filter((type) => optionsOf(type).length > 0)
    .map((type) => `${type} knows ${inWords(optionsOf(type).map(code))}`)
    .join(', ');
}

/** Bearer, and where it is not. */
export function keyHeaders(): string {
  const others = typesThat(({ header }) => header.name !== 'Authorization');
  return [
    code('Authorization: Bearer …'),
    ...others.map((type) => `for ${type} ${code(PROVIDER_TYPES[type].header.name)}`),
  ].join(', ');
}

function quoted(type: ProviderType): string {
  return `'${type}'`;
}

function code(text: string): string {
  return `\`${text}\``;
}
