// What becomes of ledger records that nobody has taken over and that will not be kept? Lines of the process's log: whoever gathers
// it can still make a bill of them.

/** Small enough to leave the event loop to others between two pieces. */
const pieceLines = 50;

/** @param lines Whole lines, a record each. */
export async function writeUnclaimed(lines: Buffer, write: (text: string) => void): Promise<void> {
  const records = lines.toString('utf8').trimEnd().split('\n');
  for (let from = 0; from < records.length; from += pieceLines) {
    const time = new Date().toISOString();
    const told = records
      .slice(from, from + pieceLines)
      .map(
        (record) =>
          `{"level":"warn","time":"${time}","message":"a ledger record was not acknowledged","record":${record}}\n`,
      );
    write(told.join(''));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
