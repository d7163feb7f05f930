// How do the verdicts of a run stand in the guide? A table of Markdown, made from the file that the run has written.

import type { Shape, ShapeMode, Verdict } from './shape.ts';

/** One verdict as tools/bench/results/failover-shapes.json holds it. */
export interface WrittenVerdict {
  readonly id: string;
  readonly mode: ShapeMode;
  readonly verdict: Verdict;
  readonly missed: readonly string[];
}

const modes: readonly ShapeMode[] = ['streaming', 'plain', 'assured'];
const verdicts: readonly Verdict[] = ['pass', 'partial', 'safe', 'fail'];

/** @throws {Error} where a shape has no verdict in a mode. */
export function shapesTable(shapes: readonly Shape[], results: readonly WrittenVerdict[]): string {
  const verdictOf = (id: string, mode: ShapeMode): Verdict => {
    const found = results.find((result) => result.id === id && result.mode === mode);
    if (found === undefined) throw new Error(`${id} has no verdict in the mode ${mode}`);
    return found.verdict;
  };
  const rows = shapes.map(({ id, what }) => [id, what, ...modes.map((mode) => verdictOf(id, mode))]);
  const sums = modes.map((mode) =>
    verdicts
      .map((verdict) => [
        results.filter((one) => one.mode === mode && one.verdict === verdict).length,
        verdict,
      ])
      .filter(([count]) => count !== 0)
      .map((pair) => pair.join(' '))
      .join(', '),
  );
  return [
    ['', 'the first provider', ...modes],
    ['---', '---', ...modes.map(() => '---')],
    ...rows,
    ['', 'in all', ...sums],
  ]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}
