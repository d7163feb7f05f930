// What does a projected token say now? The kubelet writes a new one long before the end of the old one, so it is read for each exchange.

import { readFile } from 'node:fs/promises';
import { ExchangeError } from './exchange-error.ts';

/** @throws {ExchangeError} if there is none, or it could not be sent in a header. */
export async function readProjected(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const token = text.trim();
  if (!/^[!-~]{1,16384}$/.test(token)) throw new ExchangeError(`there is no token in ${path}`, true);
  return token;
}
