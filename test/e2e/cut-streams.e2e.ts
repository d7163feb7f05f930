// Of 10,000 streams that a provider breaks off at a random byte, does a single one end as if it were complete? Four official SDKs
// and the versions before them, four dialects from four, by events and by helpers, every way a connection can end.
//
// PENSTOCK_CUT_SEED draws other cuts; PENSTOCK_CUT_STREAMS how many each SDK reads in each dialect.

import { expect, test } from 'vitest';
import type { DialectName } from '../../core/contract/routing-table.ts';
import { allDialects } from '../conformance/every-upstream.ts';
import {
  type Errand,
  olderPythonSdks,
  type PythonSdk,
  pythonSdks,
  readInPython,
} from '../conformance/python-readers.ts';
import { nodeReaders, olderNodeReaders, type StreamReader } from '../conformance/stream-readers.ts';
import {
  type CutStage,
  type CutTally,
  judge,
  newTally,
  readCutStreams,
  startCutStage,
} from '../flow/cut-stage.ts';
import { openScorecard, type Scorecard } from './scorecard.ts';

const seed = Number(process.env.PENSTOCK_CUT_SEED ?? 1 + Math.floor(Math.random() * 1e6));
const streams = Number(process.env.PENSTOCK_CUT_STREAMS ?? 1_600);
const olderStreams = Math.ceil(streams / 4);
const atOnce = 16;
/** Against a hang only; it takes some minutes. */
const timeoutMs = 3_000_000;

/** One SDK in one dialect, over all upstreams and ways to read. */
interface Cell {
  readonly sdk: string;
  readonly dialect: DialectName;
  readonly tally: CutTally;
}

test('none of 10,000 truncated streams is read as complete', { timeout: 2 * timeoutMs }, async () => {
  const pairs = allDialects.flatMap((client) => allDialects.map((upstream) => [client, upstream] as const));
  const stage = await startCutStage(pairs, seed);
  const scorecard = openScorecard(`Cut streams, seed ${seed}, streams a cell ${streams}`);
  try {
    const numbers = countFrom(1);
    const official = await Promise.all([
      inNode(stage, nodeReaders, streams, numbers),
      ...pythonSdks.map((sdk) => inPython(stage, sdk, streams, numbers)),
    ]);
    const older = await Promise.all([
      inNode(stage, olderNodeReaders, olderStreams, numbers),
      ...olderPythonSdks.map((sdk) => inPython(stage, sdk, olderStreams, numbers)),
    ]);
    for (const cell of [...official, ...older].flat()) addCell(scorecard, cell);
    const cut = official.flat().reduce((sum, { tally }) => sum + tally.cut, 0);
    scorecard.add({
      what: 'streams cut before they were whole, read by the four official SDKs of today',
      tried: cut,
      failed: official.flat().reduce((sum, { tally }) => sum + tally.wrong.length, 0),
      fired: cut,
    });
    const behind = official.flat().reduce((sum, { tally }) => sum + tally.brokenOff, 0);
    // Where nothing has been said yet, a status tells it: what is in question is the others.
    scorecard.add({
      what: 'streams of them that ended before their content began, three of four at most',
      tried: cut,
      failed: cut - behind,
      allowed: Math.floor((cut * 3) / 4),
      fired: behind,
    });
    scorecard.print();
    const wrong = [...official, ...older]
      .flat()
      .flatMap(({ sdk, tally }) => tally.wrong.map((why) => `${sdk}: ${why}`));
    expect(wrong.slice(0, 20)).toEqual([]);
    expect(scorecard.misses()).toEqual([]);
    expect(stage.rig.failures).toEqual([]);
    if (streams >= 1_600) expect(cut).toBeGreaterThanOrEqual(10_000);
  } finally {
    await stage.close();
  }
});

/** Hands out numbers that nobody else has. */
type Numbers = (count: number) => number;

function countFrom(start: number): Numbers {
  let next = start;
  return (count) => {
    const first = next;
    next += count;
    return first;
  };
}

async function inNode(
  stage: CutStage,
  readers: readonly StreamReader[],
  count: number,
  numbers: Numbers,
): Promise<Cell[]> {
  const cells = cellsOf(readers);
  for (const { sdk, dialect, tally } of cells) {
    const ways = readers.filter((reader) => reader.sdk === sdk && reader.dialect === dialect);
    const each = Math.ceil(count / ways.length / allDialects.length);
    for (const reader of ways) {
      for (const upstream of allDialects) {
        await readCutStreams(stage, reader, upstream, { first: numbers(each), count: each, atOnce }, tally);
      }
    }
  }
  return cells;
}

async function inPython(
  stage: CutStage,
  python: PythonSdk,
  count: number,
  numbers: Numbers,
): Promise<Cell[]> {
  const { sdk, reads } = python;
  const cells = cellsOf(reads.map(([dialect]) => ({ sdk, dialect })));
  const errands = reads.flatMap(([dialect, way]) => {
    const ways = reads.filter(([other]) => other === dialect).length;
    const each = Math.ceil(count / ways / allDialects.length);
    return allDialects.map(
      (upstream): Errand => ({
        dialect,
        way,
        model: stage.model(dialect, upstream),
        first: numbers(each),
        count: each,
      }),
    );
  });
  const readings = await readInPython(python, stage.address, errands, { atOnce, timeoutMs });
  for (const { dialect, first, count: each } of errands) {
    const cell = cells.find((one) => one.dialect === dialect);
    for (let number = first; number < first + each; number++) {
      const reading = readings.get(number);
      if (!cell || !reading) throw new Error(`${sdk} did not read stream ${number}`);
      await judge(stage, number, reading, cell.tally);
    }
  }
  return cells;
}

function cellsOf(readers: readonly { readonly sdk: string; readonly dialect: DialectName }[]): Cell[] {
  const names = new Map(readers.map((reader) => [`${reader.sdk} ${reader.dialect}`, reader]));
  return [...names.values()].map(({ sdk, dialect }) => ({ sdk, dialect, tally: newTally() }));
}

function addCell(scorecard: Scorecard, { sdk, dialect, tally }: Cell): void {
  scorecard.add({
    what: `${sdk}, ${dialect}`,
    tried: tally.tried,
    failed: tally.wrong.length,
    fired: tally.cut,
    figures: `${tally.brokenOff} broken off behind content, ${tally.whole} whole`,
  });
}
