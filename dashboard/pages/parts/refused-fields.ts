// Which fields does an API server refuse, and why? Its Status names them by their paths; a form shows each sentence at its field.

import { ApiError } from '../shell/api.ts';

/** Sentences by path, without `spec.` and `metadata.` in front: `targets[0].weight`. */
export type FieldProblems = Readonly<Record<string, string>>;

/** Empty where no field is named. */
export function refusedFields(error: unknown): FieldProblems {
  if (!(error instanceof ApiError)) return {};
  const { details } = (error.body ?? {}) as {
    readonly details?: {
      readonly causes?: readonly { readonly field?: string; readonly message?: string }[];
    };
  };
  const found: Record<string, string> = {};
  for (const { field = '', message = '' } of details?.causes ?? [])
    found[field.replace(/^(?:spec|metadata)\./, '')] ??= sentenceOf(message);
  return found;
}

/** The first problem of a field or of something in it. */
export function problemAt(problems: FieldProblems, field: string): string | undefined {
  const at = Object.keys(problems).find(
    (path) => path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`),
  );
  return at === undefined ? undefined : problems[at];
}

/** `Invalid value: "integer": spec.targets[0].weight in body should be …`: the field is where it is shown. */
function sentenceOf(message: string): string {
  const words = message
    .replace(/^Invalid value: (?:(?:"(?:[^"\\]|\\.)*"|null|true|false|-?[\d.]+|\{.*?\}): )?/, '')
    .replace(/^\S+ in body /, '');
  const sentence = words.slice(0, 1).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
