// How does long work let running streams be served? It goes on when everything that is waiting has had its turn.

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
