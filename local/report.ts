// What does the person at the terminal hear of a change? What is wrong, what is live now; nothing twice
// that did not change.

import { describeChanges } from './compare-manifests.ts';
import { countModels } from './count-models.ts';
import type { Deployment } from './deploy.ts';
import { formatRemark } from './manifests.ts';

interface Reporter {
  /** What stands at the start; the welcome says the rest. */
  started(deployment: Deployment): void;
  /** After an edit. */
  edited(deployment: Deployment): void;
  /** Time has passed, and nobody has edited anything. */
  refreshed(deployment: Deployment): void;
  /** Nothing could be made of the folder, or of the table. */
  failed(error: unknown): void;
  /** Why the folder as it is was not taken, in the words that were printed; empty: it was. */
  heldBack(): readonly string[];
}

export function createReporter(print: (line: string) => void): Reporter {
  let notesTold = new Set<string>();
  let held: readonly string[] = [];
  const tellProblems = ({ problems }: Deployment): void => {
    for (const problem of problems) print(`problem  ${formatRemark(problem)}`);
  };
  const tellNotes = ({ notes }: Deployment): void => {
    for (const note of notes) if (!notesTold.has(note.id)) print(`note     ${formatRemark(note)}`);
    notesTold = new Set(notes.map(({ id }) => id));
  };
  const holdBack = (why: readonly string[]): void => {
    held = why;
    print('Not taken: the last good manifests go on serving.');
  };
  return {
    started(deployment) {
      tellProblems(deployment);
      tellNotes(deployment);
    },
    edited(deployment) {
      tellNotes(deployment);
      if (deployment.outcome === 'unchanged' && held.length === 0) return;
      tellProblems(deployment);
      if (deployment.outcome === 'kept') return holdBack(deployment.problems.map(formatRemark));
      held = [];
      print(`${deployment.outcome === 'in-use' ? 'Live' : 'As before'}: ${describeTable(deployment)}`);
    },
    refreshed(deployment) {
      tellNotes(deployment);
      if (deployment.outcome === 'in-use') print(`Live: ${describeTable(deployment)}`);
    },
    failed(error) {
      const why = error instanceof Error ? error.message : String(error);
      print(`problem  ${why}`);
      holdBack([why]);
    },
    heldBack: () => held,
  };
}

function describeTable({ generation, modelCount, changes }: Deployment): string {
  return `generation ${generation}, ${countModels(modelCount)}.${describeChanges(changes)}`;
}
