// How does long work leave time for open streams? It continues after one turn of the event loop.

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
