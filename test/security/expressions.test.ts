// Can a text make a regular expression take forever? Each of the processes' is judged by a checker of another hand, which builds the text
// that would (T22). What is quadratic is named here, with what keeps its texts short.

import { check } from 'recheck';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadProject } from '../architecture/project.ts';
import { checkMs, JudgedExpressions } from './judged-expressions.ts';

/** What runs in a browser, in a test or by hand has nobody's text but its own. */
const ofProcesses = /^(?!dashboard\/pages\/|test\/|tools\/|vitest\.config\.ts$)/;

const expressions = [...loadProject().sources.values()]
  .filter(({ path }) => ofProcesses.test(path))
  .flatMap(({ path, tokens }) =>
    tokens
      .filter(({ kind }) => kind === 'regex')
      .map(({ text, line }) => {
        const end = text.lastIndexOf('/');
        return { path, line, source: text.slice(1, end), flags: text.slice(end + 1) };
      }),
  );

const short = {
  number: 'a number of ours, with some thirty digits at most',
  settings: 'what the platform or the person at this machine has written',
};

/** By file and source, or its beginning. */
const quadratic: Readonly<Record<string, string>> = {
  'dashboard/session/cookies.ts \\d+$': 'a Host header that is one of those allowed',
  'dashboard/settings.ts \\/+$': short.settings,
  'gateway/dialects/answer/read-error.ts \\uFFFD+$': 'a message that was cut to 2,048 bytes',
  'gateway/dialects/anthropic/model-traits.ts claude(?:-[a-z]+)*-(\\d{1,2})(?!\\d)(?:[-.](\\d{1,2})(?!\\d))?':
    'the name of a model, of 256 characters at most',
  'gateway/endpoints/models.ts 0+$': short.number,
  'gateway/pipeline/affinity.ts "content"\\s*:': '1,536 bytes of a prompt',
  'gateway/pipeline/affinity.ts [\\s,\\]]+$': '1,024 bytes of a prompt',
  'gateway/plan/limits.ts 0+$': short.number,
  'ledger/money.ts 0+$': short.number,
  'local/dashboard/edit-text.ts \\s*$': short.settings,
  'local/field-line.ts \\b(?:spec|metadata)(?:\\.[\\w-]+|\\[[^\\]\\s]+\\])+': short.settings,
  'operator/resources/duration.ts ([0-9]+(?:\\.[0-9]+)?)(ms|s|m|h)':
    'a text that the expression before it has taken, with seven digits in a row at most',
  'operator/status/events.ts [-.]+$': 'the name of an object, of 253 characters at most',
  'operator/usage/dollars.ts 0+$': short.number,
};

const isQuadratic = (expression: string): boolean =>
  Object.keys(quadratic).some((known) => expression.startsWith(known));

let judged: JudgedExpressions;
beforeAll(async () => {
  judged = await JudgedExpressions.open();
});
afterAll(() => judged.keep());

test('the checker is given all of them', () => {
  expect(expressions.length).toBeGreaterThan(300);
});

test('the checker finds expressions that backtrack', async () => {
  const found = await check('"(?:[^"\\\\]|\\\\.?)*"!', 's');
  expect(found).toMatchObject({ status: 'vulnerable', complexity: { type: 'exponential' } });
});

describe('time grows with the text, and no faster', { timeout: checkMs + 10_000 }, () => {
  test.each(expressions)('$path:$line', async ({ path, source, flags }) => {
    const isShort = isQuadratic(`${path} ${source}`);
    expect(await judged.growthOf(source, flags)).toMatch(isShort ? /^2nd degree polynomial/ : /^safe$/);
  });
});

test('the expressions listed as quadratic exist', () => {
  const all = expressions.map(({ path, source }) => `${path} ${source}`);
  expect(Object.keys(quadratic).filter((known) => !all.some((one) => one.startsWith(known)))).toEqual([]);
});
