// Which keys have answered this pod lately?

import type { KeyAtProvider } from './key-cooldowns.ts';

/** A target without an answer for this long, up to twice as long, is no longer reported as working. */
export const answerMemoryMs = 600_000;

export interface Answered extends KeyAtProvider {
  /** Health id of the provider. */
  readonly address: string;
}

/** By health id of the key. Two spans of time, of which the older one is forgotten as a whole. */
export class AnsweredLately {
  private latest = new Map<string, Answered>();
  private before = new Map<string, Answered>();
  private sinceMs = 0;

  /** In the present span: there is nothing to note. */
  isNoted(id: string): boolean {
    return this.latest.has(id);
  }

  /** @returns Whether this is news. */
  note(id: string, answered: Answered): boolean {
    const isNews = !this.latest.has(id) && !this.before.has(id);
    this.latest.set(id, answered);
    return isNews;
  }

  all(): ReadonlyMap<string, Answered> {
    return new Map([...this.before, ...this.latest]);
  }

  /** Whatever its credential was. */
  forgetKey({ provider, key }: KeyAtProvider): void {
    this.forget((answered) => answered.provider === provider && answered.key === key);
  }

  /** @returns how many were forgotten. */
  keepOnly(addresses: ReadonlySet<string>): number {
    return this.forget(({ address }) => !addresses.has(address));
  }

  /** @returns whether there was anything to forget. */
  forgetOld(nowMs: number): boolean {
    if (nowMs - this.sinceMs < answerMemoryMs) return false;
    const hadSome = this.before.size > 0;
    this.before = this.latest;
    this.latest = new Map();
    this.sinceMs = nowMs;
    return hadSome;
  }

  private forget(isMeant: (answered: Answered) => boolean): number {
    let forgotten = 0;
    for (const span of [this.latest, this.before]) {
      for (const [id, answered] of span) if (isMeant(answered) && span.delete(id)) forgotten++;
    }
    return forgotten;
  }
}
