// Which fields and values are in the schema but do not act in this version? They are refused, never ignored.

import { optionsOf, PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import { fieldPath, type Problem } from './problems.ts';
import type { ProviderSpec } from './provider.ts';
import type { Kind } from './resource.ts';

interface UnsupportedEntry {
  readonly kind: Kind;
  /** Field path; `[]` means every entry of a list. */
  readonly path: string;
  /** Only these values do not act; absent: the field as a whole does not. */
  readonly values?: readonly string[];
  /** For a value: what to write instead. */
  readonly instead?: string;
}

/** One row per field or value. A feature that starts to act takes its row away. */
export const UNSUPPORTED: readonly UnsupportedEntry[] = [];

/**
 * Everything in a checked spec that would have no effect, with its exact path.
 *
 * @param rows For tests, where no value is of that kind.
 */
export function findUnsupported(
  kind: Kind,
  spec: object,
  rows: readonly UnsupportedEntry[] = UNSUPPORTED,
): Problem[] {
  return rows
    .filter((entry) => entry.kind === kind)
    .flatMap((entry) =>
      valuesAt({ spec }, entry.path.split(/\.|(?=\[\])/))
        .filter(({ value }) => isAskedFor(value))
        .flatMap(({ path, value }) => judge(entry, fieldPath(path), value)),
    );
}

/** Options that the type of a Provider does not know, or whose value it does not take: refused in every version. */
export function findUnknownOptions(spec: ProviderSpec): Problem[] {
  const { settings = {} } = PROVIDER_TYPES[spec.type];
  const known = optionsOf(spec.type);
  return Object.entries(spec.options ?? {})
    .sort()
    .flatMap(([option, value]) => {
      const path = `spec.options.${option}`;
      const setting = settings[option];
      if (setting !== undefined && !setting.pattern.test(value)) {
        return [{ path, message: `must be ${setting.text}` }];
      }
      if (known.includes(option)) return [];
      const message =
        known.length === 0
          ? `is not known: the type ${spec.type} has no options; remove it`
          : `is not known: the type ${spec.type} knows ${known.join(' and ')}; remove it`;
      return [{ path, message }];
    });
}

function judge(entry: UnsupportedEntry, path: string, value: unknown): Problem[] {
  if (entry.values === undefined) return [{ path, message: 'has no effect in this version; remove it' }];
  if (!entry.values.includes(String(value))) return [];
  return [
    { path, message: `is ${String(value)}, which has no effect in this version; use ${entry.instead}` },
  ];
}

/** An empty list or object asks for nothing. */
function isAskedFor(value: unknown): boolean {
  if (value === undefined) return false;
  return typeof value !== 'object' || value === null || Object.keys(value).length > 0;
}

interface Found {
  readonly path: readonly PropertyKey[];
  readonly value: unknown;
}

function valuesAt(root: unknown, steps: readonly string[]): Found[] {
  let found: Found[] = [{ path: [], value: root }];
  for (const step of steps) {
    found = found.flatMap(({ path, value }) => {
      if (step === '[]') {
        return Array.isArray(value)
          ? value.map((item, index) => ({ path: [...path, index], value: item }))
          : [];
      }
      if (typeof value !== 'object' || value === null) return [];
      return [{ path: [...path, step], value: (value as Readonly<Record<string, unknown>>)[step] }];
    });
  }
  return found;
}
