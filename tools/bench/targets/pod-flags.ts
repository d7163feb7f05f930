// With what flags for Node.js does the chart start a gateway? What is measured is started with the same (decision 0051).

/** @param memoryMib The memory limit of its container. */
export function podFlags(memoryMib: number): readonly string[] {
  return [
    `--max-old-space-size=${Math.floor((memoryMib * 75) / 100)}`,
    `--initial-old-space-size=${Math.floor((memoryMib * 8) / 100)}`,
    '--v8-pool-size=2',
    '--max-semi-space-size=4',
  ];
}

/** `gateway.resources.limits.memory` of the chart. */
export const podMemoryMib = 768;
