// Which rows of the catalogue do the pages of the dashboard offer? Only what they show: a browser loads each byte.

import { CLOUDS, type CloudName, cloudNames } from '../core/catalog/clouds.ts';
import { DIALECTS, dialectNames } from '../core/catalog/dialects.ts';
import { LIMITS, limitMembers, RATES, rateNames } from '../core/catalog/limits.ts';
import { optionsOf, PROVIDER_TYPES, typesThat } from '../core/catalog/provider-types.ts';

export function pagesChoices(): string {
  // What people run themselves comes first: it is what they most often bring.
  const types = [
    ...typesThat(({ isSelfHosted }) => isSelfHosted === true),
    ...typesThat(({ isSelfHosted }) => isSelfHosted !== true),
  ];
  const dialects = dialectNames.map((name) => DIALECTS[name]);
  return [
    '// Which provider types, dialects and limits may be chosen? Generated from core/catalog by `npm run generate`; do not edit.',
    '',
    ...record('PROVIDER_TYPES', types, (type) => {
      const { title, baseUrl, apis, isSelfHosted } = PROVIDER_TYPES[type];
      const facts = [
        `label: '${title}'`,
        `needsUrl: ${baseUrl === undefined}`,
        `needsApis: ${apis === undefined}`,
        `needsKey: ${isSelfHosted !== true}`,
      ];
      return `${type}: { ${facts.join(', ')} }`;
    }),
    'export type ProviderType = keyof typeof PROVIDER_TYPES;',
    '',
    '/** Keys of `options`, of the types that have some. */',
    'export const PROVIDER_OPTIONS: { readonly [Type in ProviderType]?: readonly string[] } = {',
    ...types
      .filter((type) => optionsOf(type).length > 0)
      .map((type) => `  ${type}: [${optionsOf(type).map((name) => `'${name}'`)}],`.replace(/','/g, "', '")),
    '};',
    '',
    'export interface SignIn {',
    '  /** `auth.type`, and the member of `auth` with its fields. */',
    '  readonly cloud: string;',
    '  readonly member: string;',
    '  readonly fields: readonly string[];',
    '  /** Of fields that have few values. */',
    '  readonly choices: { readonly [Field in string]?: readonly string[] };',
    '  /** The content of a Secret; without one, the workload identity of the gateway signs in. */',
    '  readonly credentials: string;',
    '  readonly requiredWithKeys: readonly string[];',
    '}',
    'const CLOUDS = {',
    ...cloudNames.flatMap(cloudLines),
    '} satisfies Readonly<Record<string, SignIn>>;',
    '/** Of the types that take identities of a cloud. */',
    'export const SIGN_INS: { readonly [Type in ProviderType]?: SignIn } = {',
    ...types.flatMap((type) => {
      const { signIn } = PROVIDER_TYPES[type];
      return signIn === undefined ? [] : [`  ${type}: CLOUDS.${signIn},`];
    }),
    '};',
    '',
    ...record('APIS', dialects, ({ api, title }) => `${api}: '${title}'`),
    'export type Api = keyof typeof APIS;',
    '',
    ...record('DIALECTS', dialects, ({ spoken, title }) => `${spoken}: '${title}'`),
    'export type DialectName = keyof typeof DIALECTS;',
    '',
    ...record('LIMITS', limitMembers, (member) => {
      const { label, unit, max } = LIMITS[member];
      return `${member}: { label: '${label}', unit: '${unit}', max: ${String(max).replace(/\B(?=(\d{3})+$)/g, '_')} }`;
    }),
    'export type LimitMember = keyof typeof LIMITS;',
    'export const limitMembers = Object.keys(LIMITS) as readonly LimitMember[];',
    '',
    '/** As plans name them. */',
    'export const RATES = [',
    ...rateNames.map((name) => {
      const { label, window } = RATES[name];
      return `  { name: '${name}', label: '${label}', window: '${window}' },`;
    }),
    '] as const;',
    '',
  ].join('\n');
}

function cloudLines(cloud: CloudName): readonly string[] {
  const { member, settings, choices, credentials, requiredWithKeys } = CLOUDS[cloud];
  return [
    `  ${cloud}: {`,
    `    cloud: '${cloud}',`,
    `    member: '${member}',`,
    `    fields: [${quoted(Object.keys(settings))}],`,
    `    choices: {${Object.entries(choices).map(([name, values]) => ` ${name}: [${quoted(values)}]`)}${Object.keys(choices).length === 0 ? '' : ' '}},`,
    `    credentials: '${credentials}',`,
    `    requiredWithKeys: [${quoted(requiredWithKeys)}],`,
    '  },',
  ];
}

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

function record<Row>(name: string, rows: readonly Row[], line: (row: Row) => string): string[] {
  return [`export const ${name} = {`, ...rows.map((row) => `  ${line(row)},`), '} as const;'];
}
