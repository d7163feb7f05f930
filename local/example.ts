// Which key and which model go into the printed snippets? The key that a person at this terminal most likely means, with the first model
// that it can call and that answers; where none answers, the first that can be called.

import type { KeyEntry } from '../core/contract/routing-table.ts';
import { digestKey } from '../gateway/auth/authenticate.ts';
import { listModels } from '../gateway/route/find-model.ts';
import type { RouteView, TableView } from '../gateway/table/view.ts';

export interface Example {
  /** `namespace/name`. */
  readonly apiKey: string;
  readonly key: string;
  readonly model: string;
  readonly offersMessages: boolean;
  /** All that the key can call. */
  readonly models: readonly string[];
}

/** The platform's namespace, and that of an object without one. */
const homeNamespace = 'default';
/** The ApiKey of the manifests that everybody starts with. */
const homeApiKey = 'default/quickstart';

/**
 * @param keys Issued keys by ApiKey (`namespace/name`).
 * @param modelOrder Model ids in the order of the manifests; the table has its own.
 * @param answers Asked of one model after the other, until one does.
 */
export async function findExample(
  view: TableView,
  keys: ReadonlyMap<string, string>,
  modelOrder: readonly string[],
  answers: (route: RouteView) => Promise<boolean>,
): Promise<Example | undefined> {
  let first: Example | undefined;
  for (const { apiKey, key, routes } of callersOf(view, keys)) {
    const models = sortModels(routes, modelOrder);
    for (const route of worthShowing(routes, models)) {
      const { endpoints, model } = route.entry;
      const example = {
        apiKey,
        key,
        model,
        offersMessages: endpoints.includes('anthropic-messages'),
        models,
      };
      if (await answers(route)) return example;
      first ??= example;
    }
  }
  return first;
}

interface LikelyCaller {
  readonly apiKey: string;
  readonly key: string;
  readonly routes: readonly RouteView[];
}

/** Disabled and expired keys are not in the table. */
function callersOf(view: TableView, keys: ReadonlyMap<string, string>): readonly LikelyCaller[] {
  const found = [...keys].flatMap(([apiKey, key]) => {
    const entry = view.keys.get(digestKey(key));
    if (entry === undefined) return [];
    const namespace = apiKey.slice(0, apiKey.indexOf('/'));
    const routes = listModels(view, { key: entry, namespace });
    return [{ apiKey, key, routes, rank: rankOf(apiKey, namespace, entry, view) }];
  });
  return found.toSorted((a, b) => a.rank - b.rank);
}

/** Routes to chat models, in this order; else any route that takes a chat. */
function worthShowing(routes: readonly RouteView[], order: readonly string[]): readonly RouteView[] {
  const chats = routes
    .filter(isChat)
    .toSorted((a, b) => order.indexOf(a.entry.model) - order.indexOf(b.entry.model));
  const talking = chats.filter(({ entry }) => !otherKinds.test(entry.model));
  return talking.length > 0 ? talking : chats;
}

/** Lower is better: first the namespace, then the name, then no limit that pasted snippets could hit. */
function rankOf(apiKey: string, namespace: string, entry: KeyEntry, view: TableView): number {
  const isLimited =
    (entry.limits ??
      entry.budgets ??
      view.tenantLimits.get(namespace) ??
      view.tenantBudgets.get(namespace)) !== undefined;
  return (namespace === homeNamespace ? 0 : 4) + (apiKey === homeApiKey ? 0 : 2) + (isLimited ? 1 : 0);
}

/** A provider's listing says nothing of a model's kind; its name often does. */
const otherKinds = /embed|rerank|moderation|image|audio|speech|tts|transcri|realtime/i;

export function sortModels(routes: readonly RouteView[], modelOrder: readonly string[]): string[] {
  const models = routes.map(({ entry }) => entry.model);
  return models.sort((a, b) => modelOrder.indexOf(a) - modelOrder.indexOf(b));
}

function isChat({ entry }: RouteView): boolean {
  return entry.endpoints.includes('openai-chat');
}
