// Describes translations between dialects and their losses in one short line for a condition. The same pairs give the same line.

import type { Pairing } from './dialects.ts';

const lengthMax = 768;
const targetsShownMax = 4;

/** The worst first, since a line too long is cut at its end; pairs alike in all but their names stand together. */
export function describePairings(pairings: readonly Pairing[]): string {
  const sorted = [...pairings].sort((a, b) => gravity(b) - gravity(a));
  const byTarget = groupBy(sorted, (one) => JSON.stringify([one.target, one.upstream, describeLoss(one)]));
  const groups = groupBy(byTarget, ([first, ...rest]) =>
    first === undefined
      ? ''
      : JSON.stringify([[first, ...rest].map(({ api }) => api), first.upstream, describeLoss(first)]),
  );
  const sentences = groups.map(describeGroup);
  const shown: string[] = [];
  for (const sentence of sentences) {
    const isTooLong = shown.join('; ').length + sentence.length > lengthMax;
    // The first pairing is shown in any case, so that the line is never empty.
    if (isTooLong && shown.length > 0) break;
    shown.push(sentence);
  }
  const left = sentences.length - shown.length;
  return [...shown, ...(left === 0 ? [] : [`and ${left} more`])].join('; ');
}

/** `tools and images`; with a limit: `a, b and 3 more`. */
export function listed(words: readonly string[], shownMax = words.length): string {
  const shown = words.length > shownMax ? words.slice(0, shownMax) : words.slice(0, -1);
  const last = words.length > shownMax ? `${words.length - shownMax} more` : (words.at(-1) ?? '');
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}

/** @param group of one target each, alike in all but the target. */
function describeGroup(group: readonly (readonly Pairing[])[]): string {
  const apis = group[0]?.map(({ api }) => api) ?? [];
  const targets = group.flatMap(([one]) => one?.target ?? []);
  const [one] = group[0] ?? [];
  if (one === undefined) return '';
  const at = `${targets.length === 1 ? 'target' : 'targets'} ${listed(targets, targetsShownMax)}`;
  return `${listed(apis)} at ${at} (${one.upstream}): ${describeLoss(one)}`;
}

function describeLoss({ isNative, lost, refused }: Pairing): string {
  const parts = [
    ...(refused.length === 0 ? [] : [`${listed(refused)} ${verb(refused)} impossible`]),
    ...(lost.length === 0 ? [] : [`${listed(lost)} ${verb(lost)} lost`]),
  ];
  if (parts.length > 0) return parts.join(', ');
  return isNative ? 'native' : 'translated';
}

function verb(headlines: readonly string[]): string {
  const [only = ''] = headlines;
  return headlines.length > 1 || only.endsWith('s') ? 'are' : 'is';
}

function gravity({ lost, refused, unmet }: Pairing): number {
  return unmet.length * 100 + refused.length * 10 + lost.length;
}

/** In the order of their first members. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  return [...Map.groupBy(items, keyOf).values()];
}
