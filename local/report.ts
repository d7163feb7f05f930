// What does the terminal print after a change? What is wrong, what is live now; nothing twice that did not change.

import { describeChanges } from './compare-manifests.ts';
import { countModels } from './count-models.ts';
import type { Deployment } from './deploy.ts';
import { formatRemark } from './manifests.ts';

interface Reporter {
  /** Problems at the start; the welcome prints the rest. */
  started(deployment: Deployment): void;
  /** After an edit. */
  edited(deployment: Deployment): void;
  /** Time has passed without an edit. */
  refreshed(deployment: Deployment): void;
  /** The folder could not be read, or the table was refused. */
  failed(error: unknown): void;
  /** The printed lines that say why the folder was not applied; empty: it was. */
  heldBack(): readonly string[];
}

export function createReporter(print: (line: string) => void): Reporter {
  let notesReported = new Set<string>();
  let held: readonly string[] = [];
  const printProblems = ({ problems }: Deployment): void => {
    for (const problem of problems) print(`problem  ${formatRemark(problem)}`);
  };
  const printNotes = ({ notes }: Deployment): void => {
    for (const note of notes) if (!notesReported.has(note.id)) print(`note     ${formatRemark(note)}`);
    notesReported = new Set(notes.map(({ id }) => id));
  };
  const holdBack = (why: readonly string[]): void => {
    held = why;
    print('Not applied: the last good manifests stay live.');
  };
  return {
    started(deployment) {
      printProblems(deployment);
      printNotes(deployment);
    },
    edited(deployment) {
      printNotes(deployment);
      if (deployment.outcome === 'unchanged' && held.length === 0) return;
      printProblems(deployment);
      if (deployment.outcome === 'kept') return holdBack(deployment.problems.map(formatRemark));
      held = [];
      print(
        `${deployment.outcome === 'in-use' ? 'Live' : 'Repaired: no problem is left. Still live'}: ${describeTable(deployment)}`,
      );
    },
    refreshed(deployment) {
      printNotes(deployment);
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
