// How far is the clock of a host from ours? Learnt where a host refuses a signature for its time; each host for itself, for one could be wrong
// on purpose.

/** A signature holds for five minutes around the clock of the host. */
const offMinMs = 30_000;
/** A date beyond this is no clock that is off. */
const offMaxMs = 24 * 3_600_000;
/** Beyond this the oldest is forgotten: one more request to it is sent twice. */
const hostsMax = 1_000;

export class HostClocks {
  private readonly offsets = new Map<string, number>();

  /** To be added to our time; 0: none is known. */
  offsetMs(host: string): number {
    return this.offsets.get(host) ?? 0;
  }

  /**
   * @param date The header of that name.
   * @returns Whether ours is not that clock, or was not thought to be: a signature at another time may be taken.
   */
  learn(host: string, date: string | undefined, nowMs: number): boolean {
    const offsetMs = Date.parse(date ?? '') - nowMs;
    if (Math.abs(offsetMs) > offMaxMs) return false;
    const isOff = Math.abs(offsetMs) > offMinMs;
    const isNews = Math.abs(offsetMs - this.offsetMs(host)) > offMinMs;
    if (isNews) this.keep(host, offsetMs);
    return isOff || isNews;
  }

  private keep(host: string, offsetMs: number): void {
    this.offsets.delete(host);
    this.offsets.set(host, offsetMs);
    const [oldest] = this.offsets.keys();
    if (this.offsets.size > hostsMax && oldest !== undefined) this.offsets.delete(oldest);
  }
}
