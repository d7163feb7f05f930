// Which user may use the dashboard in local mode? The person at the terminal: a link printed there signs in one browser, once.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { SignIn } from '../../dashboard/sign-in.ts';

interface OneTimeLinks {
  readonly signIn: SignIn;
  /** The link to open; the same until it is used. Browsers never send the part after `#` to a server. */
  link(url: string): string;
}

/** At most so often: a program that guesses fills no terminal. */
const printedAgainMs = 1_000;
/** Long enough to be copied, too short to be found in a scrollback of yesterday. */
export const LINK_MS = 15 * 60_000;

interface LinkOptions {
  readonly clock: Clock;
  /** The user that runs this process. */
  readonly userName: string;
  /** A wrong, used or expired token came: time to print the next link. */
  onStale(): void;
}

interface Link {
  readonly token: string;
  readonly endsAtMs: number;
}

export function openLinks({ clock, userName, onStale }: LinkOptions): OneTimeLinks {
  const person = { name: userName, groups: [] };
  let link: Link | undefined;
  let printedAtMs = Number.NEGATIVE_INFINITY;
  /** Digests of the tokens of sessions; they end with the process, and each is of a link that was used. */
  const sessions = new Set<string>();

  const valid = (): Link | undefined =>
    link !== undefined && clock.now() < link.endsAtMs ? link : undefined;

  return {
    link(url) {
      link = valid() ?? { token: makeToken(), endsAtMs: clock.now() + LINK_MS };
      return `${url}/#token=${link.token}`;
    },
    signIn: {
      mode: 'local',
      tokenCommand: '',
      oidc: undefined,
      async admit(token) {
        const present = valid();
        if (present === undefined || !isSame(token, present.token)) {
          if (present === undefined || clock.now() - printedAtMs >= printedAgainMs) {
            printedAtMs = clock.now();
            onStale();
          }
          return undefined;
        }
        link = undefined;
        const own = makeToken();
        sessions.add(digestOf(own).toString('base64url'));
        return { person, token: own };
      },
      personOf: async (token) => (sessions.has(digestOf(token).toString('base64url')) ? person : undefined),
    },
  };
}

function makeToken(): string {
  return randomBytes(32).toString('base64url');
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
