// How long is an upstream held back that sends much and says nothing? Comments, pings and events that go nowhere cost as much work as
// any others, and back-pressure does not act on what no client is sent.

/** Of one answer: more than the longest first event repeats of a request, and any number of honest comments. */
const freeBytes = 1024 * 1024;

/** Beyond that; thousands of times as much as any pings. */
const bytesPerMs = 256;

/**
 * One long event that is dropped has cost its work already, and honest answers begin with some: waiting longer for the next one takes
 * nothing back. So of events above 64 KiB four a second are read.
 */
const holdBackMsMax = 250;

/** What one piece of content may take in an upstream's words: some repeat much around each token. */
const bytesPerContent = 8 * 1024;

/** Counts the bytes of one answer that said nothing; they are forgotten as time passes. */
export class EmptyInput {
  private bytes = 0;
  private at = 0;

  /**
   * One step of it.
   *
   * @param now Clock time in milliseconds.
   * @param endedBytes Of what has ended with it, also where its beginning came before: what an event is for, its end tells.
   * @param usedBytes Those that go on.
   * @returns For how many milliseconds nothing more is to be read; 0 if it may go on.
   */
  take(now: number, endedBytes: number, usedBytes: number, contentEvents: number): number {
    const empty = endedBytes - Math.max(usedBytes, contentEvents * bytesPerContent);
    if (empty <= 0) return 0;
    const left = Math.max(0, this.bytes - (now - this.at) * bytesPerMs);
    this.at = now;
    this.bytes = Math.min(left + empty, freeBytes + holdBackMsMax * bytesPerMs);
    return Math.max(0, (this.bytes - freeBytes) / bytesPerMs);
  }
}
