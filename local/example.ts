// Which key and which model go into the printed snippets? The first key that can call something, with
// the first model that it can call.

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
 */
export function findExample(
  view: TableView,
  keys: ReadonlyMap<string, string>,
  modelOrder: readonly string[],
): Example | undefined {
  for (const [apiKey, key] of keys) {
    // Disabled and expired keys are not in the table.
    const entry = view.keys.get(digestKey(key));
    if (entry === undefined) continue;
    const namespace = apiKey.slice(0, apiKey.indexOf('/'));
    const routes = listModels(view, { key: entry, namespace }).filter(isChat);
    const sorted = sortModels(routes, modelOrder);
    const model = sorted.find((id) => !otherKinds.test(id)) ?? sorted[0];
    const example = routes.find(({ entry }) => entry.model === model);
    if (example !== undefined) {
      const { endpoints, model } = example.entry;
      return { key, model, offersMessages: endpoints.includes('anthropic-messages') };
    }
  }
  return undefined;
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
