// How often was Ctrl-C pressed? A terminal sends the signal to every process of the job, and npm passes
// its own on: one press, two signals.

const samePressMs = 250;

/** Gives a function to call at every signal, with a time that never goes back; it gives the presses so far. */
export function createPressCounter(): (nowMs: number) => number {
  let presses = 0;
  let pressedAtMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    if (nowMs - pressedAtMs >= samePressMs) {
      presses++;
      pressedAtMs = nowMs;
    }
    return presses;
  };
}
