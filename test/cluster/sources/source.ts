// What is a way to get programs of the test cluster that are not there yet?

import type { ProgramName } from '../programs.ts';

export interface Source<Name extends string = ProgramName> {
  readonly name: string;
  /** Hands over, by `keep`, what it can of the missing programs. @throws with the reason why it cannot, or not all. */
  bring(missing: readonly Name[], kit: Kit<Name>): Promise<void>;
}

export interface Kit<Name extends string = ProgramName> {
  readonly env: NodeJS.ProcessEnv;
  /** For unfinished things; deleted afterwards. */
  readonly scratch: string;
  /** Takes a file into the cache once it has been seen to run. @throws where it does not. */
  keep(name: Name, file: string): Promise<void>;
  say(line: string): void;
  readonly signal: AbortSignal;
}
