// Does an answer that comes late leave alone what has begun since? Over a Kubernetes that takes its time to know a token.

import { afterEach, expect, test } from 'vitest';
import type { Person } from '../../dashboard/cluster.ts';
import { until } from '../support/until.ts';
import { type House, openBrowser, openHouse } from './house.ts';

let house: House | undefined;
afterEach(() => house?.close());

const ada: Person = { name: 'ada', groups: [] };

/** @returns a browser in which somebody is signed in, and what the next question who that is waits for. */
async function openHeld() {
  const held = Promise.withResolvers<Person | undefined>();
  let asked = 0;
  house = await openHouse(
    { url: 'https://127.0.0.1:1', caFile: '' },
    {
      signIn: {
        ...{ mode: 'kubernetes', tokenCommand: '', oidc: undefined },
        admit: async (token) => ({ token, person: ada }),
        personOf() {
          asked += 1;
          return held.promise;
        },
      },
    },
  );
  const browser = openBrowser(house);
  await browser.signIn('first');
  return { browser, answer: held.resolve, isAsked: async () => asked === 1 };
}

test('a session with an invalid token is removed from the browser', async () => {
  const { browser, answer } = await openHeld();
  answer(undefined);
  expect((await browser.ask('/api/session')).status).toBe(401);
  expect(browser.cookies.size).toBe(0);
});

test('a late answer about the previous session does not end the new one', async () => {
  const { browser, answer, isAsked } = await openHeld();
  const late = browser.ask('/api/session');
  await until(isAsked);
  await browser.signIn('second');
  answer(undefined);
  expect((await late).status).toBe(401);
  expect(browser.cookies.size).toBe(1);
});
