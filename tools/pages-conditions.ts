// In which words do the pages of the dashboard show conditions? The columns of the catalogue that people read there.

import { CONDITIONS, type ConditionFacts, REASONS, type ReasonFacts } from '../core/catalog/conditions.ts';

const lineWidth = 110;

export function pagesConditions(): string {
  const conditions = Object.entries<ConditionFacts>(CONDITIONS);
  const reasons = Object.entries<ReasonFacts>(REASONS);
  return [
    '// How is a condition shown, and what is to be done? Generated from core/catalog by `npm run generate`; do not edit.',
    '',
    "export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'off';",
    '',
    'interface ConditionShown {',
    '  readonly yes: string;',
    '  readonly no: string;',
    '  /** Of a condition that is bad news where it is true. */',
    '  readonly badTone?: Tone;',
    '}',
    '',
    'interface ReasonShown {',
    '  readonly title?: string;',
    '  readonly tone?: Tone;',
    '  readonly wayOut?: string;',
    '}',
    '',
    '/** In the order in which one reads them. */',
    'export const CONDITIONS: Readonly<Record<string, ConditionShown>> = {',
    ...conditions.flatMap(([type, { title, tone }]) => entry(type, { ...title, badTone: tone })),
    '};',
    '',
    'export const REASONS: Readonly<Record<string, ReasonShown>> = {',
    ...reasons.flatMap(([reason, { title, tone, wayOut }]) => entry(reason, { title, tone, wayOut })),
    '};',
    '',
  ].join('\n');
}

/** Nothing where there is nothing to say. */
function entry(name: string, members: Readonly<Record<string, string | undefined>>): string[] {
  const lines = Object.entries(members).flatMap(([member, text]) =>
    text === undefined ? [] : [memberLine(`    ${member}:`, text)],
  );
  return lines.length === 0 ? [] : [`  ${name}: {`, ...lines, '  },'];
}

function memberLine(head: string, text: string): string {
  const literal = text.includes("'") ? JSON.stringify(text) : `'${text}'`;
  const line = `${head} ${literal},`;
  return line.length > lineWidth ? `${head}\n      ${literal},` : line;
}
