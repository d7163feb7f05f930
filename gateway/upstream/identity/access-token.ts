// What did a token service give? One word that goes into a header, for a time.

import { isVisibleWord } from '../../../core/contract/visible-word.ts';
import { Secret } from '../../table/secret.ts';
import { ExchangeError } from './exchange-error.ts';

export interface AccessToken {
  readonly token: Secret;
  /** 0: unknown. */
  readonly lifetimeMs: number;
}

/** @throws {ExchangeError} where the value is no token. */
export function readAccessToken({ host }: URL, token: unknown, lifetimeMs: number): AccessToken {
  if (!isVisibleWord(token)) throw new ExchangeError(`${host} gave no token. Gateways ask again.`, false);
  return { token: new Secret(token), lifetimeMs: Number.isFinite(lifetimeMs) ? lifetimeMs : 0 };
}
