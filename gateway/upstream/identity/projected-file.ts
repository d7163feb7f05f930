// What is in a file that the platform mounts now? Read at each exchange: the kubelet replaces projected tokens before their end.

import { readFile } from 'node:fs/promises';
import { systemCode } from '../../../core/egress/egress-error.ts';
import { codeInWords, ExchangeError } from './exchange-error.ts';

/**
 * Without blanks at both ends.
 *
 * @param what Names it in an error.
 * @throws {ExchangeError} where it cannot be read, or is empty.
 */
export async function readProjected(path: string, what: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new ExchangeError(
      `${what} cannot be read${codeInWords(systemCode(error))}. Mount it into the gateway.`,
      true,
    );
  }
  if (text === '') throw new ExchangeError(`${what} is empty. Check its projected volume.`, true);
  return text;
}
