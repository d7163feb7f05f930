// Does the form of a route say the same as the kind, and does an edit change nothing else?

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  buildRoute,
  checkRouteForm,
  emptyRouteForm,
  newTarget,
  type RouteForm,
  routeFormOf,
  routePatch,
  type TargetForm,
} from '../../../dashboard/pages/providers/route-form.ts';
import type { ModelRoute } from '../../../dashboard/pages/words/kube.ts';
import { mergePatch } from '../../../dashboard/pages/words/merge-patch.ts';
import { parseModelRoute } from '../../../operator/resources/model-route.ts';

const main: TargetForm = { provider: 'own', upstreamModel: 'llama-4', priority: '0', weight: '1' };
const form: RouteForm = { ...emptyRouteForm, namespace: 'team-a', model: 'llama', targets: [main] };

const targets: fc.Arbitrary<TargetForm> = fc.record({
  provider: fc.constantFrom('own', 'own.models', 'platform/openai', 'platform/own'),
  upstreamModel: fc.constantFrom('llama-4', 'meta/llama-4:70b'),
  priority: fc.constantFrom('0', '1', '15'),
  weight: fc.constantFrom('1', '2', '1000'),
});
const dollars = fc.constantFrom('0', '2.50', '999999.999999');
const forms: fc.Arbitrary<RouteForm> = fc
  .record({
    aliases: fc.constantFrom('', 'llama-latest', 'llama-latest, own/llama'),
    targets: fc.array(targets, { minLength: 1, maxLength: 4 }),
    price: fc.constantFrom<RouteForm['price']>('List', 'Stated', 'Provisioned'),
    inputPerMillion: dollars,
    outputPerMillion: dollars,
    perRequest: fc.constantFrom('', '0.01'),
    callers: fc.constantFrom<RouteForm['callers']>('Same', 'All', 'Selector'),
    callerNames: fc.constantFrom('team-b', 'team-b, team-c'),
  })
  .map((changes) => ({ ...form, ...changes }));

const routeOf = (given: RouteForm, spec: object = {}): ModelRoute => {
  const built = buildRoute(given);
  return { ...built, spec: { ...built.spec, ...spec } } as ModelRoute;
};

/** Without what is said by nothing: prices of a list price, names where none are picked. */
const shown = ({ targets: of, ...given }: RouteForm) => ({
  ...given,
  name: '',
  ...(given.price !== 'Stated' ? { inputPerMillion: '', outputPerMillion: '', perRequest: '' } : {}),
  ...(given.callers === 'Selector' ? {} : { callerNames: '' }),
  targets: of.map(({ from: _, ...target }) => target),
});

test('the operator accepts what the form accepts', () => {
  fc.assert(
    fc.property(forms, (given) => {
      expect(checkRouteForm(given)).toEqual({});
      expect(parseModelRoute(buildRoute(given))).toMatchObject({ ok: true });
    }),
  );
});

describe('a route that is edited', () => {
  test('is not changed by an unchanged form', () => {
    fc.assert(
      fc.property(forms, (given) => {
        const route = routeOf(given);
        expect(shown(routeFormOf(route))).toEqual(shown(given));
        expect(routePatch(route, routeFormOf(route))).toEqual({ spec: {} });
      }),
    );
  });

  test('is as the form would have made it, and the operator accepts it', () => {
    fc.assert(
      fc.property(forms, forms, (first, wanted) => {
        const before = routeOf(first);
        const after = mergePatch(before, routePatch(before, wanted)) as ModelRoute;
        expect(parseModelRoute(after)).toMatchObject({ ok: true });
        expect(shown(routeFormOf(after))).toEqual(shown(wanted));
      }),
    );
  });

  test('keeps everything that the form does not show', () => {
    const target = {
      name: 'eu',
      providerRef: { kind: 'Provider', name: 'own' },
      upstreamModel: 'llama-4',
      api: 'Messages',
      parameters: { temperature: 0 },
    };
    const pricing = { inputPerMillion: '1', outputPerMillion: '2', cachedInputPerMillion: '0.5' };
    const selector = { matchLabels: { tier: 'gold' } };
    const before = routeOf(form, {
      targets: [target],
      pricing,
      allowedNamespaces: { from: 'Selector', selector },
      failover: { maxAttempts: 5 },
    });
    const was = routeFormOf(before);
    const wanted = {
      ...was,
      targets: [...was.targets, { ...newTarget(was.targets), provider: 'spare', upstreamModel: 'm' }],
      outputPerMillion: '3',
      callerNames: 'team-b',
    };
    const { spec } = mergePatch(before, routePatch(before, wanted)) as ModelRoute;
    expect(spec).toMatchObject({
      targets: [target, { name: 'spare', providerRef: { name: 'spare' }, upstreamModel: 'm', priority: 1 }],
      pricing: { ...pricing, outputPerMillion: '3' },
      allowedNamespaces: { from: 'Selector', selector, names: ['team-b'] },
      failover: { maxAttempts: 5 },
    });
  });
});

test('targets have unique names, also two of one provider', () => {
  const twice = { ...form, targets: [main, { ...main, provider: 'platform/own' }, main] };
  expect(buildRoute(twice).spec.targets.map(({ name }) => name)).toEqual(['own', 'own-2', 'own-3']);
});

test('a target that is added is tried after the existing ones', () => {
  expect(newTarget([])).toMatchObject({ priority: '0' });
  expect(newTarget([main])).toMatchObject({ priority: '1' });
  expect(newTarget([{ ...main, priority: '15' }])).toMatchObject({ priority: '15' });
});

describe('refusals of the CRD are shown before anything is sent', () => {
  test.each<[Partial<RouteForm>, string]>([
    [{ namespace: 'Team A' }, 'namespace'],
    [{ name: 'Own Llama' }, 'name'],
    [{ model: '/llama' }, 'model'],
    [{ aliases: 'llama' }, 'aliases'],
    [{ aliases: 'a b/' }, 'aliases'],
    [{ targets: [{ ...main, provider: '' }] }, 'targets[0].providerRef'],
    [{ targets: [main, { ...main, provider: 'a/b/c' }] }, 'targets[1].providerRef'],
    [{ targets: [{ ...main, upstreamModel: 'two words' }] }, 'targets[0].upstreamModel'],
    [{ targets: [{ ...main, priority: '16' }] }, 'targets[0].priority'],
    [{ targets: [{ ...main, weight: '1.5' }] }, 'targets[0].weight'],
    [{ targets: [{ ...main, weight: '0' }] }, 'targets[0].weight'],
    [{ price: 'Stated', inputPerMillion: '1,5', outputPerMillion: '2' }, 'pricing.inputPerMillion'],
    [{ price: 'Stated', inputPerMillion: '1' }, 'pricing.outputPerMillion'],
    [{ price: 'Stated' }, 'pricing.inputPerMillion'],
    [{ callers: 'Selector', callerNames: 'Team' }, 'allowedNamespaces.names'],
  ])('%j', (changes, name) => {
    expect(Object.keys(checkRouteForm({ ...form, ...changes }))).toEqual([name]);
  });
});
