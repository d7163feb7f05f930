// Where do the bytes of a credential go? Worlds of tenants, Secrets and Providers that change step by step, compiled by the operator's
// own compile and looked up by the gateway's own pipeline, for every caller, model and dialect, counting of tokens too, and by the
// operator's health checks: each request as it would be sent, with the scheme and host it would be sent to. The second opinion on who may have which value is read from the Secrets alone.

import { createHash } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import { systemClock } from '../../core/clock.ts';
import {
  credentialsOf,
  dialectNameSchema,
  parseRoutingTable,
  type RoutingTable,
  TABLE_FORMAT,
} from '../../core/contract/routing-table.ts';
import { authenticate, readCredential } from '../../gateway/auth/authenticate.ts';
import { findDialect } from '../../gateway/dialects/registry.ts';
import { RequestBody } from '../../gateway/json/request-body.ts';
import { noLimits } from '../../gateway/limits/limiter.ts';
import { openMemoryJournal } from '../../gateway/meter/journal.ts';
import { Metrics } from '../../gateway/meter/metrics.ts';
import { serveTokenCount } from '../../gateway/operations/count-tokens/index.ts';
import { openEnds } from '../../gateway/pipeline/attempt-io.ts';
import { CallBodies } from '../../gateway/pipeline/call-bodies.ts';
import type { Exchange, PipelineParts } from '../../gateway/pipeline/parts.ts';
import { routeExchange } from '../../gateway/pipeline/route-exchange.ts';
import { GatewayError } from '../../gateway/request/errors.ts';
import { readHead } from '../../gateway/request/request-head.ts';
import { Health } from '../../gateway/route/health.ts';
import { RefusedMembers } from '../../gateway/route/refused-members.ts';
import { AnswerRoom } from '../../gateway/stream/answer-room.ts';
import { OpenStreams } from '../../gateway/stream/open-streams.ts';
import { TimerQueue } from '../../gateway/stream/timer-queue.ts';
import {
  buildTableView,
  type ProviderView,
  revealConnection,
  type TableView,
} from '../../gateway/table/view.ts';
import { staticKey } from '../../gateway/upstream/credential.ts';
import { UpstreamPools } from '../../gateway/upstream/pools.ts';
import { createCompiler } from '../../operator/compile/compile.ts';
import { buildCheck } from '../../operator/probe/check.ts';
import type { RawObject, SecretRecord, Snapshot } from '../../operator/watch/snapshot.ts';
import { NOW_MS } from '../operator/compile/support.ts';
import { apiKey, namespace, PLATFORM, provider, route, secret, snapshot, target } from '../operator/make.ts';
import { createRandom, pick, type Random } from './random.ts';
import { plainAsks } from './recording-upstream.ts';

const tenants = ['platform', 'team-a', 'team-b'] as const;
const hosts = ['api.openai.com', 'a.example', 'b.example:8443', 'c.example'] as const;
const proxies = ['http://proxy.example:3128', 'http://a.example:3128'] as const;
/** What an owner of a Secret may allow. */
const entries = [...hosts, ...hosts.map((host) => `http://${host}`), ...proxies, 'proxy.example:3128'];
const secretNames = ['openai', 'other', 'extra', 'proxy'] as const;
const models = ['chat', 'shared', 'penstock/large'] as const;
const providerNames = ['one', 'two'] as const;

const hostsAnnotation = 'penstock.dev/allowed-hosts';
const lentLabel = 'penstock.dev/provider-credential';

export interface BoundHostsRun {
  /** Pairs of a table and a request that were looked at. */
  readonly requests: number;
  /** What would go out, to upstreams and to proxies; each was looked at byte by byte. */
  readonly sent: number;
  /** Of all, health checks and what goes to proxies included, those that showed a credential: in others nothing could be seen. */
  readonly carried: number;
  readonly proxied: number;
  readonly counted: number;
  /** Health checks of the operator. */
  readonly checked: number;
  /** Of all, those that would go out over plain http. */
  readonly inTheClear: number;
  /** Requests of callers to Providers of their own. */
  readonly own: number;
  /** Credentials that would go where their Secrets do not let them, in words without values. */
  readonly strayed: readonly string[];
}

/** What would be written where. */
interface Sending {
  /** Scheme and host. */
  readonly to: string;
  readonly bytes: string;
}

export async function runBoundHosts(requestsMin: number, seed: number): Promise<BoundHostsRun> {
  const random = createRandom(seed);
  const counts = {
    ...{ requests: 0, sent: 0, carried: 0 },
    ...{ proxied: 0, counted: 0, checked: 0, inTheClear: 0, own: 0 },
  };
  const strayed = new Set<string>();
  while (counts.requests < requestsMin) {
    let world = newWorld(random);
    const minted = new Map<string, string>();
    const compile = createCompiler();
    for (let step = 0; step < 6; step++) {
      if (step > 0) world = changed(world, random, step);
      for (const one of world.secrets)
        for (const [key, value] of Object.entries(one.data))
          minted.set(value, `${one.namespace}/${one.name} ${key}`);
      const { table } = compile(world, NOW_MS);
      const whole = { ...table, format: TABLE_FORMAT, minReader: 1, epoch: 1, generation: step + 1 };
      const parsed = parseRoutingTable(JSON.parse(JSON.stringify(whole)));
      const view = buildTableView(parsed);
      const look = (sendings: readonly Sending[]): void => {
        for (const { to, bytes } of sendings) {
          if (to.startsWith('http://')) counts.inTheClear++;
          const shown = [...minted].filter(([value]) => bytes.includes(value));
          if (shown.length > 0) counts.carried++;
          for (const [value, name] of shown)
            if (!mayGoTo(world.secrets, value, to)) strayed.add(`${name} to ${to}`);
        }
      };
      const checks = checksOf(parsed);
      counts.checked += checks.length;
      look(checks);
      for (const caller of tenants)
        for (const model of models)
          for (const dialect of dialectNameSchema.options) {
            counts.requests++;
            look(await sendingsOf(view, caller, model, dialect, random, counts));
          }
    }
  }
  return { ...counts, strayed: [...strayed] };
}

/** As the annotation of the Secret says it now; of one that is replaced or not shared, nothing says anything. */
function mayGoTo(secrets: readonly SecretRecord[], value: string, to: string): boolean {
  return secrets.some(({ data, labels, annotations }) => {
    if (!Object.values(data).includes(value) || labels[lentLabel] !== 'true') return false;
    const allowed = annotations[hostsAnnotation];
    // Without one, the typed Provider's own host alone. Where no scheme is, https alone.
    const entry = to.replace(/^https:\/\//, '');
    return allowed === undefined ? entry === 'api.openai.com' : allowed.split(',').includes(entry);
  });
}

/** What the operator would ask of each Provider, with each of its keys. */
function checksOf(table: RoutingTable): readonly Sending[] {
  return table.providers.flatMap((entry) => {
    const values = new Map(credentialsOf(entry).map((id) => [id, credentialValue(table, id)]));
    const reveal = (id: string): string | undefined => values.get(id);
    const requests = [
      { type: 'ListModels' },
      { type: 'HTTPGet', path: '//c.example/health' },
      { type: 'Completion', model: 'm' },
    ] as const;
    return entry.keys.flatMap(({ credential }) =>
      requests.map((request) => {
        const { url, headers, body } = buildCheck(request, entry, credential, reveal);
        return { to: new URL(url).origin, bytes: `${url} ${JSON.stringify(headers)} ${body}` };
      }),
    );
  });
}

const credentialValue = ({ credentials }: RoutingTable, id: string): string | undefined =>
  credentials.find((one) => one.id === id)?.value;

async function sendingsOf(
  view: TableView,
  caller: string,
  model: string,
  dialectName: (typeof dialectNameSchema.options)[number],
  random: Random,
  counts: { sent: number; proxied: number; counted: number; own: number },
): Promise<readonly Sending[]> {
  const sendings: Sending[] = [];
  const pools = new RecordingPools((sending) => sendings.push(sending));
  const parts: PipelineParts = { ...unusedParts, pools, random: () => random(1_000) / 1_000 };
  const rawHeaders = ['Authorization', `Bearer ${keyOf(caller)}`, ...callersHeaders(random)];
  const text = JSON.stringify({ model, ...plainAsks[dialectName], ...pick(random, overrides) });
  const exchange: Exchange = {
    dialect: findDialect(dialectName),
    view,
    caller: authenticate(readCredential(readHead(rawHeaders)), view, NOW_MS),
    // Past the door, which refuses most of the overrides.
    body: new RequestBody([Buffer.from(text)]),
    requestId: 'req_0',
    request: { url: `${findDialect(dialectName).path}?api_base=https://c.example`, rawHeaders },
    response: nobodysResponse(),
    isClosing: false,
    arrivedAt: 0,
  };
  try {
    const routed = routeExchange(parts, exchange);
    for (const candidate of routed.plan.candidates) {
      const share = parts.answers.open('team/key');
      openEnds(parts, routed, candidate, 0, share, () => new CallBodies(routed)).send(nobody);
      const { provider: served } = candidate.target;
      if (served.namespace === caller && caller !== 'platform') counts.own++;
      const { proxy } = revealConnection(served);
      if (proxy === undefined) continue;
      counts.proxied++;
      const { credentials } = proxy;
      const to = `${proxy.protocol}://${proxy.hostname}:${proxy.port}`;
      sendings.push({ to, bytes: JSON.stringify(credentials ?? {}) });
    }
    if (dialectName === 'anthropic-messages') {
      const before = sendings.length;
      await serveTokenCount(parts, { ...exchange, response: nobodysResponse() });
      counts.counted += sendings.length - before;
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  counts.sent += sendings.length;
  return sendings;
}

/** Pools that write down what would be sent, and where a connection would be opened to. */
class RecordingPools extends UpstreamPools {
  private readonly onSend: (sending: Sending) => void;

  constructor(onSend: (sending: Sending) => void) {
    super({ resolve: async () => [] });
    this.onSend = onSend;
  }

  override poolFor(to: ProviderView, connectMs: number): Pool {
    super.poolFor(to, connectMs);
    return new RecordingPool(new URL(to.entry.baseUrl).origin, this.onSend);
  }
}

class RecordingPool extends Pool {
  private readonly origin: string;
  private readonly onSend: (sending: Sending) => void;

  constructor(origin: string, onSend: (sending: Sending) => void) {
    super(origin);
    this.origin = origin;
    this.onSend = onSend;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.onSend({
      to: this.origin,
      bytes: `${options.path} ${JSON.stringify(options.headers)} ${String(options.body)}`,
    });
    // A count of tokens asks the next one then.
    queueMicrotask(() => handler.onResponseError?.(unusedController, new Error('not sent')));
    return true;
  }
}

const nobody = { onHead() {}, onBody() {}, onEnd() {}, onBreak() {} };
const nobodysResponse = () => new ServerResponse(new IncomingMessage(new Socket()));
const unusedController: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort() {},
  pause() {},
  resume() {},
};
const unusedParts: Omit<PipelineParts, 'pools'> = {
  clock: systemClock,
  random: () => 0,
  credentials: { of: staticKey },
  health: new Health(() => 0),
  refused: new RefusedMembers(),
  journal: openMemoryJournal(() => {}),
  metrics: new Metrics({
    tableGeneration: () => 0,
    requestsInFlight: () => 0,
    tableSource: () => undefined,
    tableAgeSeconds: () => undefined,
    breakers: () => [],
    coolingKeys: () => [],
  }),
  streams: new OpenStreams(),
  timers: new TimerQueue(systemClock),
  answers: new AnswerRoom(0),
  limits: noLimits,
  onFailure() {},
  holder: { current: () => undefined },
  defaults: {
    timeouts: {
      connectMs: 1,
      firstEventMs: 1,
      lastFirstEventMs: 1,
      livenessMs: 1,
      progressMs: 1,
      totalMs: 1,
      clientWriteMs: 1,
    },
    openAfterMs: 1,
    keepAliveMs: 1,
    callsAtOnce: 1,
    showProvider: true,
  },
};

/** Members by which other gateways let a caller choose the address, or the key. */
const overrides: readonly [object, ...object[]] = [
  {},
  {},
  { api_base: 'https://c.example/v1', base_url: 'https://c.example/v1', api_key: 'sk-own' },
  { metadata: { api_base: 'https://c.example' }, litellm_params: { api_base: 'https://c.example' } },
];

function callersHeaders(random: Random): readonly string[] {
  return pick<readonly string[]>(random, [
    [],
    ['host', 'c.example', 'x-forwarded-host', 'c.example', 'x-api-base', 'https://c.example'],
    ['openai-organization', 'org-1', 'anthropic-version', '2023-06-01', 'x-portkey-custom-host', 'c.example'],
  ]);
}

const keyOf = (caller: string): string => `psk_${caller.padEnd(40, 'k')}`;

function newWorld(random: Random): Snapshot {
  return snapshot({
    namespaces: tenants.map((name) => namespace(name)),
    platform: { ...PLATFORM, egressAllow: [] },
    secrets: tenants.flatMap((at) => secretNames.map((name) => newSecret(random, at, name, 0))),
    providers: tenants.flatMap((at) => providerNames.map((name) => newProvider(random, at, name))),
    modelRoutes: tenants.flatMap((at) => models.map((model) => newRoute(random, at, model))),
    apiKeys: tenants.map((at) =>
      apiKey(
        { imports: [{ sha256: createHash('sha256').update(keyOf(at)).digest('hex') }] },
        { namespace: at, name: 'bot' },
      ),
    ),
  });
}

function newSecret(random: Random, at: string, name: string, version: number): SecretRecord {
  const values = `${at}-${name}-${version}-${random(2 ** 30).toString(36)}`;
  const several = (from: readonly string[]): string => from.filter(() => random(3) > 0).join(',');
  const isUnbound = random(5) === 0;
  return secret({
    namespace: at,
    name,
    labels: random(6) === 0 ? {} : { [lentLabel]: 'true' },
    annotations: isUnbound ? {} : { [hostsAnnotation]: several(entries) },
    data: { key: `sk-${values}`, username: `user-${values}`, password: `pass-${values}` },
  });
}

function newProvider(random: Random, at: string, name: string): RawObject {
  const host = pick(random, hosts);
  const type = pick(random, ['OpenAI', 'OpenAICompatible', 'Anthropic', 'Ollama']);
  const isPlain = (type === 'OpenAICompatible' || type === 'Ollama') && random(2) === 0;
  const key = (of: string) => ({ name: of, secretRef: { name: of, key: 'key' } });
  return provider(
    {
      type,
      apis: pick(random, [['ChatCompletions'], ['ChatCompletions', 'Messages']]),
      baseURL: `${isPlain ? 'http' : 'https'}://${host}/v1`,
      auth: { keys: random(2) === 0 ? [key('openai')] : [key('openai'), key('other')] },
      ...(random(2) === 0
        ? { headers: [{ name: 'x-extra', valueFrom: { secretKeyRef: { name: 'extra', key: 'key' } } }] }
        : {}),
      ...(random(2) === 0
        ? { proxy: { url: pick(random, proxies), credentialsRef: { name: 'proxy' } } }
        : {}),
      ...(at === 'platform' ? { allowedNamespaces: { from: pick(random, ['Same', 'All']) } } : {}),
    },
    { namespace: at, name },
  );
}

function newRoute(random: Random, at: string, model: string): RawObject {
  return route(
    {
      model,
      ...(random(3) === 0 ? { aliases: [`${model}-latest`] } : {}),
      ...(at === 'platform' ? { allowedNamespaces: { from: pick(random, ['Same', 'All']) } } : {}),
      targets: providerNames.map((name, priority) =>
        target({
          name,
          priority,
          providerRef: { name, ...(random(3) === 0 ? { namespace: pick(random, tenants) } : {}) },
        }),
      ),
    },
    { namespace: at, name: model.replace('/', '-') },
  );
}

/** One thing is rotated, bound otherwise, taken back, or pointed elsewhere. */
function changed(world: Snapshot, random: Random, step: number): Snapshot {
  const at = pick(random, tenants);
  const name = pick(random, secretNames);
  const isIt = (one: SecretRecord): boolean => one.namespace === at && one.name === name;
  const fresh = newSecret(random, at, name, step);
  switch (random(4)) {
    case 0:
      return {
        ...world,
        secrets: world.secrets.map((one) => (isIt(one) ? { ...one, data: fresh.data } : one)),
      };
    case 1:
      return {
        ...world,
        secrets: world.secrets.map((one) =>
          isIt(one) ? { ...one, labels: fresh.labels, annotations: fresh.annotations } : one,
        ),
      };
    case 2:
      return { ...world, secrets: world.secrets.filter((one) => !isIt(one)) };
    default: {
      const moved = newProvider(random, at, pick(random, providerNames));
      const isMoved = ({ metadata }: RawObject): boolean =>
        metadata.namespace === moved.metadata.namespace && metadata.name === moved.metadata.name;
      return { ...world, providers: world.providers.map((one) => (isMoved(one) ? moved : one)) };
    }
  }
}
