// Does a page ask once who is signed in, and believe no answer that is of before?

import { expect, test } from 'vitest';
import { openLookUps } from '../../../dashboard/pages/shell/look-ups.ts';

function makeLookUps() {
  const asked: ((found: string) => void)[] = [];
  const heard: string[] = [];
  const lookUps = openLookUps<string, string>(() => new Promise((resolve) => asked.push(resolve)));
  const ask = (note: string) =>
    lookUps.ask((found) => {
      heard.push(`${note}: ${found}`);
      return found;
    });
  return { asked, heard, ask, overtake: lookUps.overtake };
}

test('whoever asks while it is asked has the same answer, and it is heard once', async () => {
  const { asked, heard, ask } = makeLookUps();
  const all = ['first', 'second', 'third'].map(ask);
  expect(asked.length).toBe(1);
  asked[0]?.('ada');
  expect(await Promise.all(all)).toEqual(['ada', 'ada', 'ada']);
  const next = ask('later');
  asked[1]?.('bob');
  expect(await next).toBe('bob');
  expect(heard).toEqual(['first: ada', 'later: bob']);
});

test('what was asked before somebody signed in is heard by nobody, however late it comes', async () => {
  const { asked, heard, ask, overtake } = makeLookUps();
  const before = ask('before');
  overtake();
  const after = ask('after');
  expect(asked.length).toBe(2);
  asked[0]?.('nobody');
  expect(await before).toBeUndefined();
  // Nor does it end what is under way by now.
  const beside = ask('beside');
  expect(asked.length).toBe(2);
  asked[1]?.('ada');
  expect(await Promise.all([after, beside])).toEqual(['ada', 'ada']);
  expect(heard).toEqual(['after: ada']);
});
