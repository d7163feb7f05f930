// Does the operator notice CustomResourceDefinitions of another release, and only those?

import { expect, test } from 'vitest';
import { type KubeClient, KubeError } from '../../../core/kube/client.ts';
import { watchCrdBundles } from '../../../operator/watch/crd-bundles.ts';
import { makeClock, settle } from '../clock.ts';

type Answer = string | undefined | number;

function stage(answers: Record<string, Answer>) {
  const clock = makeClock();
  const said: string[] = [];
  const advice: string[] = [];
  const client: KubeClient = {
    async call({ path }) {
      const name = path.split('/').at(-1) ?? '';
      const answer = answers[name.split('.')[0] ?? ''];
      if (typeof answer === 'number') throw new KubeError(answer, 'Whatever', `GET ${path}: ${answer}`);
      return {
        metadata: {
          name,
          annotations: answer === undefined ? {} : { 'penstock.dev/bundle-version': answer },
        },
      };
    },
    stream: () => Promise.reject(new Error('nothing is watched')),
    close() {},
  };
  const log = (_level: string, message: string, more: Readonly<Record<string, unknown>> = {}) => {
    advice.push(message);
    said.push(`${String(more.crd).split('.')[0]} ${String(more.found ?? more.reason)}`);
  };
  const bundles = watchCrdBundles({ client, clock, log, version: '1.2.0' });
  return {
    bundles,
    clock,
    said,
    advice,
    figures: () => [...bundles.mismatches()].map(({ isOther }) => isOther),
  };
}

const mine = { providers: '1.2.0', modelroutes: '1.2.0', apikeys: '1.2.0', tenantpolicies: '1.2.0' };

test('CRDs of its own release cause no report', async () => {
  const { said, figures } = stage(mine);
  await settle();
  expect([said, figures()]).toEqual([[], [false, false, false, false]]);
});

test('older, unknown and missing CRDs are named and counted', async () => {
  const { said, figures } = stage({ ...mine, providers: '1.1.0', modelroutes: undefined, apikeys: 404 });
  await settle();
  expect(said).toEqual(['providers 1.1.0', 'modelroutes none', 'apikeys missing']);
  expect(figures()).toEqual([true, true, true, false]);
});

test('CRDs of a later release ask for a newer operator: in an upgrade they come first', async () => {
  const { advice } = stage({ ...mine, providers: '1.10.0', modelroutes: '1.1.9', apikeys: '2.0.0-rc.1' });
  await settle();
  expect(advice).toEqual([
    'the CustomResourceDefinition is of 1.10.0, this operator of 1.2.0; upgrade the operator',
    'a CustomResourceDefinition is not of this release; apply those that came with it',
    'the CustomResourceDefinition is of 2.0.0-rc.1, this operator of 1.2.0; upgrade the operator',
  ]);
});

test('an unreadable CRD is reported, and in no metric', async () => {
  const { said, figures } = stage({ ...mine, apikeys: 403 });
  await settle();
  expect(said).toEqual([expect.stringMatching(/^apikeys GET .*: 403$/)]);
  expect(figures()).toEqual([false, false, false]);
});

test('an upgrade while it runs is noticed, and a remaining mismatch is logged once', async () => {
  const answers: Record<string, Answer> = { ...mine, providers: '1.1.0' };
  const { bundles, clock, said, figures } = stage(answers);
  await settle();
  clock.advance(10 * 60_000);
  await settle();
  expect([said, figures()]).toEqual([['providers 1.1.0'], [true, false, false, false]]);
  answers.providers = '1.2.0';
  clock.advance(10 * 60_000);
  await settle();
  expect(figures()).toEqual([false, false, false, false]);
  bundles.close();
});
