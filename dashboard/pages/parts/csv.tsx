// How does what is shown become a file? By a button that makes it in the browser: nothing more is asked for.

import { serverClock } from '../shell/server-clock.ts';
import { type Cell, csvNameOf, csvOf } from '../words/csv.ts';
import { Button } from './basics.tsx';

interface CsvButtonProps {
  /** Names the file, and the button to a screen reader: such as `Top models`. */
  readonly what: string;
  readonly head: readonly string[];
  /** Exact values, not those shown; called when the button is pressed. */
  readonly rows: () => readonly (readonly Cell[])[];
}

export function CsvButton({ what, head, rows }: CsvButtonProps) {
  return (
    <Button
      look="quiet"
      label={`CSV: ${what}`}
      onClick={() => download(csvNameOf(what, serverClock.now()), csvOf(head, rows()))}
    >
      CSV
    </Button>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The download has started by now.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
