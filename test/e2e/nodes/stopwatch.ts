// How long did something take? In seconds, with one decimal.

export function stopwatch(): () => number {
  const startMs = performance.now();
  return () => Math.round((performance.now() - startMs) / 100) / 10;
}
