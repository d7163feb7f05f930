// Does everything that stops callers ask first? Each such action of the pages: its first click changes nothing and says what callers notice.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { findBarriers } from '../browser/axe.ts';
import { changesOf, click, dialogOf, makeOpen } from './pages.ts';

const open = makeOpen();
const key = '/keys/team-a/ci-bot-0';
const route = '/routes/team-a/llama';
const provider = '/providers/team-a/own-models';

interface Stop {
  readonly path: string;
  /** The first click, of a person who is not sure yet. */
  readonly begin: (page: Page) => Promise<void>;
  readonly said: RegExp;
  /** The last click. */
  readonly confirm: string;
  /** What is typed before. */
  readonly typed?: string;
}

const button = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).click();
const edited = (label: RegExp | string, text: string) => async (page: Page) => {
  await button('Edit')(page);
  await dialogOf(page).getByLabel(label).first().fill(text);
  await click(page, 'Save');
};

const stops: Readonly<Record<string, Stop>> = {
  'disabling a key': {
    path: key,
    begin: button('Disable'),
    said: /Calls with this key are refused/,
    confirm: 'Disable',
  },
  'deleting a key': {
    path: key,
    begin: button('Delete'),
    said: /Calls with this key are refused/,
    confirm: 'Delete',
    typed: 'ci-bot-0',
  },
  'rotating a key without overlap': {
    path: key,
    async begin(page) {
      await button('Rotate')(page);
      await dialogOf(page).getByLabel('Overlap').selectOption('0');
    },
    said: /The old key is refused, usually within a second/,
    confirm: 'Rotate',
  },
  'a budget of a key below what is spent': {
    path: key,
    async begin(page) {
      await button('Edit')(page);
      await dialogOf(page).getByLabel('Dollars').last().fill('3');
      await dialogOf(page).getByLabel('When used up').last().selectOption('Block');
      await click(page, 'Save');
    },
    said: /Daily budget used up: \$3\.21 of \$3\.00\. Refused until/,
    confirm: 'Save and apply',
  },
  'a limit of a key that is lower': {
    path: key,
    begin: edited('Requests per minute', '5'),
    said: /Calls beyond 5 requests per minute are refused/,
    confirm: 'Save and apply',
  },
  'models that a key may not call any more': {
    path: key,
    begin: edited(/^Models/, 'llama'),
    said: /Calls of penstock\/\* are refused/,
    confirm: 'Save and apply',
  },
  'suspending a route': {
    path: route,
    begin: button('Suspend'),
    said: /Calls to the model of this route are refused until you resume the route/,
    confirm: 'Suspend',
  },
  'deleting a route': {
    path: route,
    begin: button('Delete'),
    said: /get 404/,
    confirm: 'Delete',
    typed: 'llama',
  },
  'targets of a route of which none is in use': {
    path: '/routes/platform/small',
    begin: edited(/^Upstream model/, 'gpt-7'),
    said: /All targets in use are replaced/,
    confirm: 'Save and apply',
  },
  'suspending a provider': {
    path: provider,
    begin: button('Suspend'),
    said: /A model without another target refuses calls/,
    confirm: 'Suspend',
  },
  'deleting a provider': {
    path: provider,
    begin: button('Delete'),
    said: /./,
    confirm: 'Delete',
    typed: 'own-models',
  },
  'another address of a provider': {
    path: provider,
    begin: edited(/^Address/, 'https://other.example.com/v1'),
    said: /Calls of 1 route use the new address at once/,
    confirm: 'Save and apply',
  },
};

test.each(Object.entries(stops))('%s is confirmed, and its first click changes nothing', async (_, stop) => {
  const { path, begin, said, confirm, typed } = stop;
  const page = await open(path);
  const sent = changesOf(page);
  await begin(page);
  await dialogOf(page).getByText(said).first().waitFor();
  expect(await findBarriers(page)).toEqual([]);
  expect(sent).toEqual([]);
  if (typed !== undefined) await dialogOf(page).getByLabel(/^Type/).fill(typed);
  await click(page, confirm);
  await until(async () => sent.length > 0);
});
