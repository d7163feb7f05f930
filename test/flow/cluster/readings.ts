// What does a process say of itself? One value of its metrics: the sum of all series that match,
// 0 where the metric is there and has none of them yet.

export async function readMetrics(
  metricsUrl: string,
): Promise<(name: string, ...labels: string[]) => number> {
  const lines = (await (await fetch(`${metricsUrl}/metrics`)).text()).split('\n');
  return (name, ...labels) => {
    const found = lines.filter(
      (line) =>
        (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) &&
        labels.every((label) => line.includes(label)),
    );
    const family = name.replace(/_(count|sum)$/, '');
    if (!lines.some((line) => line.startsWith(`# TYPE ${family} `)))
      throw new Error(`${metricsUrl} says nothing of ${name}`);
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  };
}
