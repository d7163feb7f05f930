// What did a long run show? One line for each claim: how often it was tried, how often it failed, and that the fault it is
// about really happened. Printed for people; a claim whose fault never fired proves nothing, and fails.

export interface Claim {
  /** A sentence, as it would stand in the guide. */
  readonly what: string;
  /** How often it was tried. */
  readonly tried: number;
  /** How often it did not hold. */
  readonly failed: number;
  /** How many failures the claim allows; 0 where left out. */
  readonly allowed?: number;
  /** How often the fault was seen to happen; left out where the claim is about no fault. */
  readonly fired?: number;
  /** Figures beside it: `p99 12 ms`. */
  readonly figures?: string;
}

export interface Scorecard {
  add(claim: Claim): void;
  /** The claims that do not hold, in words; empty: all do. To be expected empty by the test. */
  misses(): readonly string[];
  /** Prints all lines. */
  print(): void;
}

export function openScorecard(title: string): Scorecard {
  const claims: Claim[] = [];
  return {
    add: (claim) => void claims.push(claim),
    misses: () =>
      claims.flatMap((claim) => {
        const fault = faultOf(claim);
        return fault === undefined ? [] : [`${claim.what}: ${fault}`];
      }),
    print() {
      const lines = claims.map(
        (claim) => `${faultOf(claim) === undefined ? 'holds' : 'FAILS'}  ${lineOf(claim)}`,
      );
      process.stdout.write(`\n${[title, ...lines].join('\n')}\n`);
    },
  };
}

function faultOf({ tried, failed, allowed = 0, fired }: Claim): string | undefined {
  if (tried === 0) return 'it was never tried';
  if (fired === 0) return 'its fault never happened';
  return failed > allowed ? `${failed} of ${tried} failed, ${allowed} may` : undefined;
}

function lineOf({ what, tried, failed, fired, figures }: Claim): string {
  const faults = fired === undefined ? '' : `, fault seen ${fired} times`;
  return `${what}: ${failed} of ${tried} failed${faults}${figures === undefined ? '' : `; ${figures}`}`;
}
