// What does the person at the terminal need to see? Two pieces to paste, then what runs: the summary is last, so it stays on the screen.

import { countModels } from './count-models.ts';
import type { Example } from './example.ts';
import { describeFirstSnippets } from './snippets.ts';

interface WelcomeFacts {
  /** Base URL for Anthropic clients, which add /v1 themselves. */
  readonly url: string;
  /** Base URL for OpenAI clients. */
  readonly baseUrl: string;
  readonly metricsUrl: string;
  readonly simulatorUrl: string;
  readonly manifestsFolder: string;
  readonly snippetsFile: string;
  /** The sign-in link; or why the dashboard is not available. */
  readonly dashboard: { readonly link: string } | { readonly missing: string };
  /** All that is served, in the order in which they are worth showing; the example has those of its key. */
  readonly models: readonly string[];
  /** A key and a model that it may call. */
  readonly example: Example | undefined;
  /** A last remark, about Providers that cannot be reached yet. */
  readonly warning: string | undefined;
}

const modelsShownMax = 4;

export function describeWelcome(facts: WelcomeFacts): string {
  const { url, baseUrl, models, example, warning } = facts;
  return `${example === undefined ? needed : describeFirstSnippets({ ...example, url, baseUrl })}
Penstock serves ${countModels(models.length)} on ${baseUrl}
  models     ${describeModels(example?.models ?? models)}
  key        ${example === undefined ? 'none that can call a model yet' : `${example.key} (${example.apiKey})`}
  manifests  ${facts.manifestsFolder.replace(/\/?$/, '/')} (edit a file: it is live at once)
${example === undefined ? '' : `  snippets   ${facts.snippetsFile} (JavaScript and the Anthropic SDKs too)\n`}\
  simulator  ${facts.simulatorUrl}
  metrics    ${facts.metricsUrl}/metrics
  dashboard  ${describeDashboard(facts.dashboard)}
${warning === undefined ? '' : `${warning}\n`}Ctrl-C ends it.`;
}

function describeModels(models: readonly string[]): string {
  const more = models.length - modelsShownMax;
  return `${models.slice(0, modelsShownMax).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
}

function describeDashboard(dashboard: WelcomeFacts['dashboard']): string {
  if ('missing' in dashboard) return `none: ${dashboard.missing}`;
  return `${dashboard.link}\n             (works once; open it again and a fresh link is printed here)`;
}

const needed = `
To call a model, the manifests need a Provider, a ModelRoute and an ApiKey that may call it.
`;
