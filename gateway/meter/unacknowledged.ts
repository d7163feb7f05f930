// What happens to ledger records that are given up before the ledger has acknowledged them? They go into the process's log,
// from which they can still be billed.

/** Small enough to leave the event loop to others between two pieces. */
const pieceLines = 50;

/** @param lines Whole lines, a record each. */
export async function writeUnacknowledged(lines: Buffer, write: (text: string) => void): Promise<void> {
  const records = lines.toString('utf8').trimEnd().split('\n');
  for (let from = 0; from < records.length; from += pieceLines) {
    const time = new Date().toISOString();
    const lines = records
      .slice(from, from + pieceLines)
      .map(
        (record) =>
          `{"level":"warn","time":"${time}","message":"a ledger record was not acknowledged","record":${record}}\n`,
      );
    write(lines.join(''));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
