// What do the guides tell a reader to paste? The one block of a shell, or the one command within a sentence, that holds some words.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../docs/guides');

/** @throws where no block holds the words, or two do. */
export async function guideBlock(words: string): Promise<string> {
  return onlyOne(words, (await guides()).matchAll(/^```sh\n(.*?)^```/gms));
}

/** As `guideBlock`, of commands between backticks. */
export async function guideCommand(words: string): Promise<string> {
  return onlyOne(words, (await guides()).replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`]+)`/g));
}

async function guides(): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

function onlyOne(words: string, found: Iterable<RegExpMatchArray>): string {
  const held = new Set([...found].map(([, text = '']) => text).filter((text) => text.includes(words)));
  const [text] = held;
  if (text === undefined || held.size > 1)
    throw new Error(
      `${held.size} commands of the guides hold "${words}", and not one: name it by other words`,
    );
  return text;
}
