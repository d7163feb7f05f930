// Which key and which model go into the printed snippets? The first key that can call a model that answers, with the first such model; where
// none answers, the first that can be called.

import { digestKey } from '../gateway/auth/authenticate.ts';
import { listModels } from '../gateway/route/find-model.ts';
import type { RouteView, TableView } from '../gateway/table/view.ts';

export interface Example {
  readonly key: string;
  readonly model: string;
  readonly offersMessages: boolean;
}

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
  for (const [apiKey, key] of keys) {
    for (const route of callableWith(view, apiKey, key, modelOrder)) {
      const { endpoints, model } = route.entry;
      const example = { key, model, offersMessages: endpoints.includes('anthropic-messages') };
      if (await answers(route)) return example;
      first ??= example;
    }
  }
  return first;
}

function callableWith(
  view: TableView,
  apiKey: string,
  key: string,
  modelOrder: readonly string[],
): readonly RouteView[] {
  // Disabled and expired keys are not in the table.
  const entry = view.keys.get(digestKey(key));
  if (entry === undefined) return [];
  const namespace = apiKey.slice(0, apiKey.indexOf('/'));
  const routes = listModels(view, { key: entry, namespace })
    .filter(isChat)
    .toSorted((a, b) => modelOrder.indexOf(a.entry.model) - modelOrder.indexOf(b.entry.model));
  const talking = routes.filter((route) => !otherKinds.test(route.entry.model));
  return talking.length > 0 ? talking : routes;
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
