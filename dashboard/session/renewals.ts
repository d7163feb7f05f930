// Is the token of a session about to end, and what is the next one? The issuer is asked once for a refresh token, however many pages ask
// at the same time: most issuers take it once, and one that comes again ends the whole session there.

import { hash } from 'node:crypto';
import { type Oidc, SignInFailed } from '../sign-in.ts';
import {
  isSamePerson,
  isTokenText,
  type Session,
  TOKENS_CHARS_MAX,
  tokenEndMs,
  withTokens,
} from './session.ts';

type Renewal =
  /** The session to use; a new one if its tokens were renewed. */
  | { readonly is: 'good'; readonly session: Session }
  /** The issuer has ended it, and its token is over. */
  | { readonly is: 'refused' }
  /** The issuer does not answer, and its token is over. */
  | { readonly is: 'away' };

export interface Renewals {
  of(session: Session): Promise<Renewal>;
}

interface RenewalsParts {
  readonly oidc: Pick<Oidc, 'renew'> | undefined;
  wallMs(): number;
  onFailed(reason: string): void;
}

type Answer = { readonly is: 'tokens'; readonly session: Session } | { readonly is: 'refused' | 'away' };

interface Asked {
  readonly answer: Promise<Answer>;
  keptUntilMs: number;
}

/** Renewed so long before its end: clocks differ, and a request with it takes time. */
const aheadMs = 30_000;
/** Pages that have not taken the next cookie yet come with the one before. */
const keptMs = 120_000;
/** An issuer that is away is not asked with every request. */
const awayMs = 5_000;
const keptMax = 10_000;

export function openRenewals({ oidc, wallMs, onFailed }: RenewalsParts): Renewals {
  /** By a digest of the session as its cookie has it, the oldest first. */
  const asked = new Map<string, Asked>();

  return {
    async of(session) {
      const { refreshToken, token } = session;
      const leftMs = (tokenEndMs(token) ?? Number.POSITIVE_INFINITY) - wallMs();
      if (leftMs > aheadMs) return { is: 'good', session };
      const isOver = leftMs <= 0;
      if (oidc === undefined || refreshToken === undefined)
        return isOver ? { is: 'refused' } : { is: 'good', session };
      const answer = await ask(oidc, session, refreshToken);
      if (answer.is === 'tokens') return { is: 'good', session: answer.session };
      // Another replica may have had the next one, and its cookie is on the way: until its end this one does.
      return isOver ? { is: answer.is } : { is: 'good', session };
    },
  };

  function ask(from: Pick<Oidc, 'renew'>, session: Session, refreshToken: string): Promise<Answer> {
    const nowMs = wallMs();
    const id = hash('sha256', `${session.id} ${session.token} ${refreshToken}`, 'base64url');
    const known = asked.get(id);
    if (known !== undefined && nowMs < known.keptUntilMs) return known.answer;
    makeRoom(nowMs);
    const answer = renewed(from, session, refreshToken);
    const mine: Asked = { answer, keptUntilMs: Number.POSITIVE_INFINITY };
    asked.delete(id);
    asked.set(id, mine);
    answer.then(
      ({ is }) => {
        mine.keptUntilMs = wallMs() + (is === 'away' ? awayMs : keptMs);
      },
      () => asked.delete(id),
    );
    return answer;
  }

  async function renewed(from: Pick<Oidc, 'renew'>, session: Session, refreshToken: string): Promise<Answer> {
    try {
      const tokens = await from.renew(refreshToken);
      const isFine =
        isTokenText(tokens.token) &&
        tokens.token.length <= TOKENS_CHARS_MAX &&
        isSamePerson(session.token, tokens.token);
      if (isFine) return { is: 'tokens', session: withTokens(session, tokens) };
      onFailed('the next token is another person’s, or longer than cookies can hold');
      return { is: 'refused' };
    } catch (error) {
      if (!(error instanceof SignInFailed)) throw error;
      onFailed(error.message);
      return { is: error.isIssuerAway ? 'away' : 'refused' };
    }
  }

  function makeRoom(nowMs: number): void {
    if (asked.size < keptMax) return;
    for (const [id, { keptUntilMs }] of asked) if (keptUntilMs <= nowMs) asked.delete(id);
    for (const [id] of asked) {
      if (asked.size < keptMax) return;
      asked.delete(id);
    }
  }
}
