// Does a provider answer from here, does it take the key, and which models does it list? One call, through the same egress guard as every
// call of the asking namespace. A stored credential is sent only to the address of its own Provider.

import { UPSTREAM_DIALECTS, upstreamDialectNames } from '../../core/catalog/dialects.ts';
import { isProviderType, PROVIDER_TYPES } from '../../core/catalog/provider-types.ts';
import type { Clock } from '../../core/clock.ts';
import {
  CHECK_MODELS_MAX,
  CHECK_TIMEOUT_MS,
  type CheckAnswer,
  type CheckQuestion,
} from '../../core/contract/connection-check.ts';
import { parseAddressRules } from '../../core/egress/address-rules.ts';
import { connectOnce, type OneAnswer, sendOnce } from '../../core/egress/send-once.ts';
import { type ProviderView, revealConnection, type TableView } from '../table/view.ts';
import { readModels } from './read-models.ts';

/** Models of a large vendor take some hundred kilobytes. */
const bodyBytesMax = 4 * 1024 * 1024;

/** The address and the form of the question. */
interface Call {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly hasKey: boolean;
  /** The credential is not a header (as with Bedrock), so only the connection is tested, and no models are listed. */
  readonly hasOwnSeats: boolean;
  readonly connection: ReturnType<typeof revealConnection>;
}

export async function checkConnection(
  view: TableView,
  clock: Clock,
  question: CheckQuestion,
): Promise<CheckAnswer> {
  const { namespace, provider } = question;
  const saved = provider === undefined ? undefined : view.providers.get(`${namespace}/${provider}`);
  const call = callOf(question, saved);
  if (typeof call === 'string') return { outcome: 'fails', message: call, latencyMs: 0 };
  const { egressAllow, egressDeny } = view.settings;
  const route = {
    rules: parseAddressRules(egressAllow, egressDeny),
    namespace,
    connection: call.connection,
    timeoutMs: CHECK_TIMEOUT_MS,
  };
  const beganMs = clock.now();
  const elapsed = (): number => Math.round(clock.now() - beganMs);
  if (call.hasOwnSeats) {
    const reason = await connectOnce(call.baseUrl, route);
    const latencyMs = elapsed();
    return reason === undefined
      ? {
          outcome: 'odd',
          message: `Connected in ${latencyMs} ms. The sign-in was not tested: send a request.`,
          latencyMs,
        }
      : { outcome: 'fails', message: sentence(reason), latencyMs };
  }
  const answer = await sendOnce(
    { method: 'GET', url: `${call.baseUrl}/models`, headers: call.headers },
    {
      ...route,
      signal: new AbortController().signal,
      bodyBytesMax: (status) => (status < 500 ? bodyBytesMax : 0),
    },
  );
  return judge(answer, call.hasKey, elapsed());
}

/** @returns the call, or a sentence on why there is none. */
function callOf(question: CheckQuestion, saved: ProviderView | undefined): Call | string {
  const { type, baseURL, apis, options = {}, key } = question;
  const address = baseURL === undefined ? undefined : plainAddress(baseURL);
  const isOwnAddress = address === undefined || address === saved?.entry.baseUrl; // guard: check-saved-address
  if (saved !== undefined && isOwnAddress) return savedCall(saved, key);
  if (type === undefined)
    return 'The gateways do not have this Provider: it is new, suspended or not ready. Save it, or see its status.';
  const facts = PROVIDER_TYPES[type];
  const baseUrl = address ?? facts.baseUrl;
  if (baseUrl === undefined) return `The type ${type} has no default address. Enter one.`;
  const spoken = apis ?? facts.apis ?? [];
  const dialects = upstreamDialectNames.filter((name) => spoken.includes(UPSTREAM_DIALECTS[name].api));
  const ofOptions = Object.entries(options).flatMap(([name, value]) => {
    const header = facts.options[name];
    return header === undefined ? [] : [[header.toLowerCase(), value] as const];
  });
  return {
    baseUrl,
    headers: {
      ...plainHeaders,
      ...Object.fromEntries(dialects.flatMap((name) => UPSTREAM_DIALECTS[name].headers)),
      ...Object.fromEntries(ofOptions),
      ...(key === undefined ? {} : { [facts.header.name.toLowerCase()]: facts.header.prefix + key }),
    },
    hasKey: key !== undefined,
    hasOwnSeats: facts.hasOwnSeats === true,
    connection: {},
  };
}

function savedCall(provider: ProviderView, typed: string | undefined): Call {
  const { baseUrl, dialects, auth, type } = provider.entry;
  const stored = provider.endpoints.find(({ key, weight }) => key !== undefined && weight > 0)?.key;
  const key = typed ?? stored?.secret.reveal();
  const facts = isProviderType(type) ? PROVIDER_TYPES[type] : undefined;
  const header = auth?.header ?? facts?.header.name ?? 'authorization';
  const prefix = auth?.prefix ?? facts?.header.prefix ?? 'Bearer ';
  return {
    baseUrl,
    headers: {
      ...plainHeaders,
      ...Object.fromEntries(dialects.flatMap((dialect) => UPSTREAM_DIALECTS[dialect].headers)),
      ...Object.fromEntries(provider.headers.map(({ name, value }) => [name.toLowerCase(), value.reveal()])),
      ...(key === undefined ? {} : { [header.toLowerCase()]: prefix + key }),
    },
    hasKey: key !== undefined,
    hasOwnSeats: facts?.hasOwnSeats === true,
    connection: revealConnection(provider),
  };
}

const plainHeaders = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'penstock-gateway',
};

/** In the spelling of the table. */
function plainAddress(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}`;
}

function judge(answer: OneAnswer, hasKey: boolean, latencyMs: number): CheckAnswer {
  if (answer.type === 'none') return { outcome: 'fails', message: sentence(answer.reason), latencyMs };
  const { status, body = '' } = answer;
  const answered = `Answered with ${status} in ${latencyMs} ms`;
  const facts = { status, latencyMs };
  if (status >= 500)
    return { outcome: 'fails', message: `${answered}. Check the log of the server.`, ...facts };
  if (status === 401 || status === 403)
    return {
      outcome: 'refused',
      message: hasKey
        ? `${answered}: the provider rejects this key.`
        : `${answered}: the provider requires a key. Enter one, or save the provider first: Secrets are read only for saved providers.`,
      ...facts,
    };
  if (status === 429)
    return { outcome: 'works', message: `${answered}: too many requests now. Test again later.`, ...facts };
  if (status === 404 || status === 405)
    return {
      outcome: 'odd',
      message: `${answered}: no list of models there. Check the path of the address, such as /v1.`,
      ...facts,
    };
  const models = status >= 200 && status < 300 ? readModels(body) : undefined;
  if (models === undefined)
    return {
      outcome: 'odd',
      message:
        status >= 300 && status < 400
          ? `${answered}: a redirect, which is not followed. Enter its target address.`
          : `${answered}, without a list of models. Check the address.`,
      ...facts,
    };
  const more = Math.max(0, models.length - CHECK_MODELS_MAX);
  return {
    outcome: 'works',
    message: `Reachable in ${latencyMs} ms: model list read, ${models.length === 1 ? '1 model' : `${models.length} models`}. No model was called.`,
    ...facts,
    models: models.slice(0, CHECK_MODELS_MAX),
    ...(more > 0 ? { more } : {}),
  };
}

function sentence(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}
