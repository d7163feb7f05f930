// Which directives hold for this call? Model name, header and installed scripts together, and whose turn it is to fail.

import type { Directives, Fault } from './directives.ts';
import { parseDirectives } from './directives.ts';

export type Scripts = {
  /**
   * `target`: a model's base name, an endpoint such as `/v1/models`, or `*`. One text holds for every call; a list gives
   * one text to each call and then stops; null removes the script. Throws DirectiveError.
   */
  install(target: string, directives: string | readonly string[] | null): void;
  /** The directives of the next call to these targets; the later target wins. Uses up one entry of each list. */
  take(targets: readonly string[]): Directives;
  /** The fault that is due for this call: counts the calls of `once`, `times` and `after`. */
  dueFault(counter: string, directives: Directives): Fault | undefined;
  reset(): void;
};

export function makeScripts(): Scripts {
  const installed = new Map<
    string,
    { kind: 'always'; directives: Directives } | { kind: 'queue'; left: Directives[] }
  >();
  const faulted = new Map<string, number>();
  return {
    install: (target, directives) => {
      // A new script resets the counters.
      for (const counter of faulted.keys())
        if (target === '*' || counter.startsWith(`${target}|`)) faulted.delete(counter);
      if (directives === null) installed.delete(target);
      else if (typeof directives === 'string') {
        installed.set(target, { kind: 'always', directives: parseDirectives(directives) });
      } else installed.set(target, { kind: 'queue', left: directives.map(parseDirectives) });
    },
    take: (targets) => {
      let merged: Directives = {};
      for (const target of targets) {
        const script = installed.get(target);
        if (script === undefined) continue;
        merged = { ...merged, ...(script.kind === 'always' ? script.directives : script.left.shift()) };
      }
      return merged;
    },
    dueFault: (counter, directives) => {
      const { fault, faultTimes, faultAfter = 0 } = directives;
      if (fault === undefined) return undefined;
      if (faultTimes === undefined && faultAfter === 0) return fault;
      const name = `${counter}|${JSON.stringify(fault)}`;
      const before = faulted.get(name) ?? 0;
      faulted.set(name, before + 1);
      return before >= faultAfter && before < faultAfter + (faultTimes ?? Number.POSITIVE_INFINITY)
        ? fault
        : undefined;
    },
    reset: () => {
      installed.clear();
      faulted.clear();
    },
  };
}
