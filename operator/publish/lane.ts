// Runs calls in sequence, also after failures.

export function createLane(): <T>(run: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run, run);
    last = turn;
    return turn;
  };
}
