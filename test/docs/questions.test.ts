// Are twenty-one questions of a newcomer answered, each within two links of the README? A row names the page, the heading, and words that
// the answer needs. Rows are written before the page.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const QUESTIONS: readonly [question: string, page: string, heading: string, words: readonly string[]][] = [
  [
    'How do I see a first answer, without a cluster?',
    'docs/guides/quickstart.md',
    'Start',
    ['npm ci && npm start', 'curl'],
  ],
  [
    'How do I add my own Ollama?',
    'docs/providers/ollama.md',
    'Ollama',
    ['type: Ollama', 'auth: { type: None }'],
  ],
  ['Which Kubernetes does it need?', 'docs/compatibility.md', 'Platform', ['Kubernetes', '1.32']],
  [
    'How do I install it?',
    'docs/guides/install.md',
    'Install',
    ['helm install penstock', 'image.repository'],
  ],
  [
    'My model server has a private address. How do I open it?',
    'docs/guides/providers-and-keys.md',
    'Open a private address',
    ['egress:', 'cidr:'],
  ],
  [
    'A key has leaked. What do I type?',
    'docs/guides/providers-and-keys.md',
    'Revoke a leaked key',
    ['kubectl patch apikey', '"overlap":"0s"'],
  ],
  [
    'How do I connect Claude Code?',
    'docs/guides/clients.md',
    'Claude Code',
    ['ANTHROPIC_BASE_URL', 'ANTHROPIC_DEFAULT_HAIKU_MODEL'],
  ],
  [
    'How does another provider take over?',
    'docs/guides/reliability.md',
    'Add a second target',
    ['priority: 1'],
  ],
  [
    'How do I know that failover works, before an outage?',
    'docs/guides/reliability.md',
    'Rehearse an outage',
    ['drill:', 'penstock.dev/drill-now'],
  ],
  [
    'How do I keep a team below 500 dollars a month?',
    'docs/guides/limits-and-budgets.md',
    'Limit a namespace',
    ['kind: TenantPolicy', 'period: Month'],
  ],
  [
    'How do I limit the requests of one key?',
    'docs/guides/limits-and-budgets.md',
    'Limit a key',
    ['requestsPerMinute'],
  ],
  [
    'What did each team spend in November?',
    'docs/guides/usage-and-cost.md',
    'Export a month',
    ['export --format focus', '2026-11-01'],
  ],
  [
    'How do I back up the ledger, and restore it?',
    'docs/guides/operate.md',
    'Back up and restore the ledger',
    ['ledger.backup.schedule', 'ledger.import.file'],
  ],
  [
    'How do I go back to the version before?',
    'docs/guides/operate.md',
    'Roll back',
    ['helm rollback penstock'],
  ],
  ['How much memory and disk does it need?', 'docs/guides/operate.md', 'Size', ['768Mi', 'Calls a day']],
  [
    'PenstockTableStale fires. What do I do?',
    'docs/guides/observe.md',
    'PenstockTableStale',
    ['kubectl get lease'],
  ],
  [
    'Why is my ModelRoute not Ready?',
    'docs/guides/troubleshooting.md',
    'By condition',
    ['`Accepted`', '`ResolvedRefs`'],
  ],
  [
    'Which target would serve a request, and what would it cost?',
    'docs/guides/troubleshooting.md',
    'Plan a request',
    ['/v1/plan'],
  ],
  [
    'How do people sign in at the dashboard with our own login?',
    'docs/guides/dashboard.md',
    'Sign in with OpenID Connect',
    ['oidc:', 'issuer:'],
  ],
  [
    'How do gateways sign in at our cloud without a key?',
    'docs/guides/cloud-identities.md',
    'Install and check',
    ['cloudIdentity:', 'CredentialsValid'],
  ],
  [
    'How does Argo CD know that an object is healthy?',
    'docs/guides/gitops.md',
    'Argo CD',
    ['argocd-cm', 'obj.status'],
  ],
];

test.each(QUESTIONS)('%s', (_question, page, heading, words) => {
  expect(LINKED).toContain(page);
  const answer = sectionOf(read(page), heading);
  expect(words.filter((word) => !answer.includes(word))).toEqual([]);
});

test('there are twenty-one questions, and every guide answers one', () => {
  expect(QUESTIONS).toHaveLength(21);
  const answering = new Set(QUESTIONS.map(([, page]) => page));
  const guides = readdirSync(join(root, 'docs/guides')).filter((name) => name.endsWith('.md'));
  expect(guides.filter((name) => !answering.has(`docs/guides/${name}`))).toEqual([]);
});

test('every page for readers is within two links', () => {
  const pages = ['docs/guides', 'docs/providers', 'docs'].flatMap((folder) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
  );
  expect(pages.filter((path) => path.endsWith('.md') && !LINKED.has(path))).toEqual([]);
});

/** What README links to, and what those pages link to. */
const LINKED = new Set([...linksOf('README.md')].flatMap((page) => [page, ...linksOf(page)]));

function linksOf(page: string): readonly string[] {
  if (!page.endsWith('.md')) return [];
  return [...read(page).matchAll(/\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]+)?\)/g)].map(([, link = '']) =>
    join(dirname(page), link),
  );
}

/** From a heading to the next one of its level or above. */
function sectionOf(page: string, heading: string): string {
  const lines = page.split('\n');
  const from = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  expect(from, `a heading "${heading}"`).toBeGreaterThanOrEqual(0);
  const level = lines[from]?.indexOf(' ') ?? 0;
  const length = lines.slice(from + 1).findIndex((line) => new RegExp(`^#{1,${level}} `).test(line));
  return lines.slice(from, length < 0 ? undefined : from + 1 + length).join('\n');
}
