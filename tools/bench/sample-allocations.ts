// Loaded into a target before it starts, as `sample-allocations.ts?to=FILE`: which functions allocate? From SIGWINCH to the exit.

import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const file = new URL(import.meta.url).searchParams.get('to') ?? '';
const session = new Session();
session.connect();
process.once('SIGWINCH', () => {
  session.post('HeapProfiler.startSampling', {
    samplingInterval: 4096,
    // Nearly all allocations of requests are collected by the time of the exit.
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  process.once('exit', () => {
    session.post('HeapProfiler.stopSampling', (_, { profile }) =>
      writeFileSync(file, JSON.stringify(profile)),
    );
  });
});
