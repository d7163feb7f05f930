// What do the times of many runs come to? Quantiles by the nearest rank, for figures that a test prints.

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function describeMs(values: readonly number[]): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => Math.round(quantile(values, share)));
  return `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms, N = ${values.length}`;
}
