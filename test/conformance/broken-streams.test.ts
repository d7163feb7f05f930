// However a stream breaks, does every official SDK raise, and in the gateway's words? In plain iteration and by its helpers, passing
// through and translated; also where the stream was opened before there was any content, to keep intermediaries alive. The same
// behind real proxies, and with the full times: `npm run e2e -- broken-behind-proxies`.

import { afterAll, beforeAll, describe, test } from 'vitest';
import {
  type BrokenStage,
  cases,
  expectRaised,
  signalNames,
  signals,
  startBrokenStage,
} from './broken-stage.ts';
import { type Errand, pythonSdks, readInPython } from './python-readers.ts';
import { nodeReaders, olderNodeReaders } from './stream-readers.ts';

let stage: BrokenStage;

beforeAll(async () => {
  stage = await startBrokenStage({ openAfterMs: 40, silenceMs: 150 });
});

afterAll(() => stage.close());

describe.each(signalNames)('a stream that %s', (signal) => {
  test.each(['today', 'before'] as const)('is raised by the SDKs for Node of %s', async (age) => {
    for (const { client, upstream, model } of cases.filter((one) => one.signal === signal)) {
      const readers = age === 'today' ? nodeReaders : olderNodeReaders;
      for (const reader of readers.filter(({ dialect }) => dialect === client)) {
        const reading = await reader.read(stage.rig, model, 'three plain words');
        expectRaised(reading, signals[signal], `${reader.sdk}, ${reader.way}, ${client} from ${upstream}`);
      }
    }
  });
});

test.each(pythonSdks)('each of these streams is raised by $sdk', { timeout: 300_000 }, async (python) => {
  const errands = cases.flatMap(({ client, model }) =>
    python.reads.filter(([dialect]) => dialect === client).map(([dialect, way]) => ({ dialect, way, model })),
  );
  const numbered = errands.map((errand, first): Errand => ({ ...errand, first, count: 1 }));
  const readings = await readInPython(python, stage.rig, numbered, { atOnce: 8, timeoutMs: 240_000 });
  for (const { model, way, first } of numbered) {
    const signal = cases.find((one) => one.model === model)?.signal;
    if (signal === undefined) throw new Error(`${model} is no case`);
    expectRaised(readings.get(first), signals[signal], `${python.sdk}, ${way}, ${model}`);
  }
});
