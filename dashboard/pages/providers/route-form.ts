// Which ModelRoute does the form describe, and what is changed in one that is there? Pure.

import type { FieldProblems } from '../parts/refused-fields.ts';
import type { ModelRoute } from '../words/kube.ts';
import { namePattern, namespacePattern, namespaceProblem } from '../words/names.ts';
import {
  type CallersForm,
  callersIn,
  callersPatch,
  callersProblem,
  emptyCallers,
  wordsIn,
} from './callers-form.ts';
import { modelPattern, routeNameOf, upstreamModelPattern } from './provider-form.ts';

type Target = ModelRoute['spec']['targets'][number];

export interface TargetForm {
  /** `name`, or `namespace/name` of another namespace. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly priority: string;
  readonly weight: string;
  /** As it is in the object, with everything that the form does not show; undefined: it is new. */
  readonly from?: Target;
}

export interface RouteForm extends CallersForm {
  readonly namespace: string;
  /** Empty: made from the model id. */
  readonly name: string;
  readonly model: string;
  readonly aliases: string;
  readonly targets: readonly TargetForm[];
  /** `List`: the price of the vendor's list. `Provisioned`: capacity is paid for by the hour, and calls cost nothing. */
  readonly price: 'List' | 'Stated' | 'Provisioned';
  readonly inputPerMillion: string;
  readonly outputPerMillion: string;
  readonly perRequest: string;
}

/** Targets after the first are failover: tried when the targets before them fail. */
export function newTarget(others: readonly TargetForm[]): TargetForm {
  const last = Math.max(-1, ...others.map(({ priority }) => Number(priority) || 0));
  return { provider: '', upstreamModel: '', priority: String(Math.min(15, last + 1)), weight: '1' };
}

export const emptyRouteForm: RouteForm = {
  namespace: '',
  name: '',
  model: '',
  aliases: '',
  targets: [newTarget([])],
  price: 'List',
  inputPerMillion: '',
  outputPerMillion: '',
  perRequest: '',
  ...emptyCallers,
};

const prices = ['inputPerMillion', 'outputPerMillion', 'perRequest'] as const;
const pricePatterns = {
  inputPerMillion: /^(0|[1-9][0-9]{0,5})([.][0-9]{1,6})?$/,
  outputPerMillion: /^(0|[1-9][0-9]{0,5})([.][0-9]{1,6})?$/,
  perRequest: /^(0|[1-9][0-9]{0,2})([.][0-9]{1,12})?$/,
};

/** By the paths of the object, as an API server names them. Empty: everything may be sent. */
export function checkRouteForm(form: RouteForm): FieldProblems {
  const problems: Record<string, string> = {};
  if (!namespacePattern.test(form.namespace)) problems.namespace = namespaceProblem(form.namespace);
  if (form.name !== '' && !(namePattern.test(form.name) && form.name.length <= 253))
    problems.name = 'Only lower-case letters, digits and "-", with a letter or digit at both ends: llama.';
  if (!isModel(form.model)) problems.model = 'Enter a model id, such as llama or own/llama-4.';
  const odd = wordsIn(form.aliases).find((alias) => !isModel(alias) || alias === form.model);
  if (odd !== undefined)
    problems.aliases = odd === form.model ? `${odd} is the model id itself.` : `“${odd}” is not a model id.`;
  else if (wordsIn(form.aliases).length > 16) problems.aliases = 'At most 16 aliases.';
  form.targets.forEach(({ provider, upstreamModel, priority, weight }, at) => {
    const parts = provider.trim().split('/');
    const [place = '', name = ''] = parts.length === 1 ? [form.namespace, parts[0]] : parts;
    if (parts.length > 2 || !namePattern.test(name) || (parts.length === 2 && !namespacePattern.test(place)))
      problems[`targets[${at}].providerRef`] = 'Choose a provider: its name, or namespace/name.';
    if (!upstreamModelPattern.test(upstreamModel) || upstreamModel.length > 256)
      problems[`targets[${at}].upstreamModel`] = 'Enter the model name of the provider.';
    if (!isWhole(priority, 15)) problems[`targets[${at}].priority`] = 'A whole number from 0 to 15.';
    if (!isWhole(weight, 1000)) problems[`targets[${at}].weight`] = 'A whole number from 0 to 1000.';
  });
  if (form.targets.every(({ weight }) => weight === '0'))
    problems['targets[0].weight'] = 'At least one target needs a weight above 0.';
  if (form.price === 'Stated') {
    for (const name of prices)
      if (form[name].trim() !== '' && !pricePatterns[name].test(form[name].trim()))
        problems[`pricing.${name}`] = 'Enter dollars, such as 2.50.';
    const [input, output, request] = prices.map((name) => form[name].trim());
    if (input === '' && (output !== '' || request === ''))
      problems['pricing.inputPerMillion'] ??= 'Enter dollars; 0 is free.';
    if (output === '' && input !== '') problems['pricing.outputPerMillion'] ??= 'Enter dollars; 0 is free.';
  }
  return { ...problems, ...callersProblem(form) };
}

const isModel = (text: string) => modelPattern.test(text) && text.length <= 200;
const isWhole = (text: string, max: number) => /^(0|[1-9][0-9]{0,3})$/.test(text) && Number(text) <= max;

export function nameOfRoute({ name, model }: RouteForm): string {
  return name === '' ? routeNameOf(model) : name;
}

export function buildRoute(form: RouteForm) {
  const aliases = wordsIn(form.aliases);
  const callers = callersIn(form);
  return {
    apiVersion: 'penstock.dev/v1alpha1',
    kind: 'ModelRoute',
    metadata: { name: nameOfRoute(form), namespace: form.namespace },
    spec: {
      model: form.model,
      ...(aliases.length === 0 ? {} : { aliases }),
      ...(callers === undefined ? {} : { allowedNamespaces: callers }),
      ...(form.price === 'List' ? {} : { pricing: pricingIn(form) }),
      targets: buildTargets(form),
    },
  };
}

function pricingIn(form: RouteForm): Readonly<Record<string, string | true>> {
  if (form.price === 'Provisioned') return { provisioned: true };
  const stated = prices.map((name) => [name, form[name].trim()] as const);
  return Object.fromEntries(stated.filter(([, text]) => text !== ''));
}

function buildTargets({ namespace, targets }: RouteForm): readonly Target[] {
  const taken = new Set(targets.flatMap(({ from }) => from?.name ?? []));
  return targets.map(({ provider, upstreamModel, priority, weight, from }) => {
    const [place = '', name = ''] = provider.includes('/')
      ? provider.trim().split('/')
      : [namespace, provider.trim()];
    const { namespace: _, ...ref } = from?.providerRef ?? { name };
    const { priority: __, weight: ___, ...kept } = from ?? { name: freeName(name, taken) };
    return {
      ...kept,
      providerRef: { ...ref, name, ...(place === namespace ? {} : { namespace: place }) },
      upstreamModel,
      ...written('priority', Number(priority), 0, from),
      ...written('weight', Number(weight), 1, from),
    };
  });
}

/** A default is left out, unless it was there. */
function written<Name extends 'priority' | 'weight'>(
  name: Name,
  value: number,
  usual: number,
  from: Target | undefined,
) {
  return value === usual && from?.[name] === undefined ? {} : ({ [name]: value } as Record<Name, number>);
}

/** Of a target in status, metrics and ledger: that of its provider, numbered where there are more. */
function freeName(provider: string, taken: Set<string>): string {
  const base = provider.replace(/\./g, '-').slice(0, 58).replace(/-+$/, '') || 'target';
  let name = base;
  for (let at = 2; taken.has(name); at++) name = `${base}-${at}`;
  taken.add(name);
  return name;
}

/** The form of a route that is there, to be edited. */
export function routeFormOf({ metadata, spec }: ModelRoute): RouteForm {
  const { pricing, allowedNamespaces } = spec;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    model: spec.model,
    aliases: (spec.aliases ?? []).join(', '),
    targets: spec.targets.map((from) => {
      const { name, namespace = metadata.namespace } = from.providerRef;
      return {
        provider: namespace === metadata.namespace ? name : `${namespace}/${name}`,
        upstreamModel: from.upstreamModel,
        priority: String(from.priority ?? 0),
        weight: String(from.weight ?? 1),
        from,
      };
    }),
    price: pricing === undefined ? 'List' : pricing.provisioned ? 'Provisioned' : 'Stated',
    inputPerMillion: pricing?.inputPerMillion ?? '',
    outputPerMillion: pricing?.outputPerMillion ?? '',
    perRequest: pricing?.perRequest ?? '',
    callers: allowedNamespaces?.from ?? 'Same',
    callerNames: (allowedNamespaces?.names ?? []).join(', '),
  };
}

/** A merge patch of what was changed: what was taken away is null, and what the form does not show stays as it is. */
export function routePatch(before: ModelRoute, form: RouteForm): { readonly spec: object } {
  const was = routeFormOf(before);
  const { spec } = buildRoute(form);
  const differs = (...names: readonly (keyof RouteForm)[]) =>
    names.some((name) => JSON.stringify(was[name]) !== JSON.stringify(form[name]));
  const stated: Readonly<Record<string, string | true>> = spec.pricing ?? {};
  // What takes the place of all amounts leaves none of them, and none leaves it: also of those that the form does not show.
  const isOther = (was.price === 'Provisioned') !== (form.price === 'Provisioned');
  const named = isOther ? [...Object.keys(before.spec.pricing ?? {}), ...Object.keys(stated)] : prices;
  return {
    spec: {
      ...(differs('aliases') ? { aliases: spec.aliases ?? null } : {}),
      ...(differs('targets') ? { targets: spec.targets } : {}),
      ...(differs('price', ...prices)
        ? {
            pricing:
              form.price === 'List'
                ? null
                : Object.fromEntries(named.map((name) => [name, stated[name] ?? null])),
          }
        : {}),
      ...(differs('callers', 'callerNames') ? { allowedNamespaces: callersPatch(form) } : {}),
    },
  };
}
