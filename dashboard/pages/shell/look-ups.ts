// Who is signed in now? Whoever asks while that is asked has the same answer; what was asked before somebody signed in or out is heard by nobody.

interface LookUps<Found, Told> {
  /**
   * @param hear what follows from what was found: that of whoever asked first.
   * @returns undefined: it was overtaken.
   */
  ask(hear: (found: Found) => Told): Promise<Told | undefined>;
  /** Somebody has signed in or out. */
  overtake(): void;
}

/** @param look asks the server, and throws nothing. */
export function openLookUps<Found, Told>(look: () => Promise<Found>): LookUps<Found, Told> {
  let underWay: Promise<Told | undefined> | undefined;
  return {
    ask(hear) {
      const own: Promise<Told | undefined> =
        underWay ??
        look().then((found) => {
          if (underWay !== own) return undefined;
          underWay = undefined;
          return hear(found);
        });
      underWay = own;
      return own;
    },
    overtake() {
      underWay = undefined;
    },
  };
}
