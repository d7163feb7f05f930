// Relays questions about plans and models to a gateway. Decides here which users may ask, and which may see the names of providers.

import { z } from 'zod';
import {
  CATALOG_PATH,
  type CatalogRequest,
  catalogRequestSchema,
  PLAN_PATH,
  plainPlanAnswerSchema,
  planRequestSchema,
} from '../../core/contract/plan.ts';
import { CallFault } from '../../core/kube/own-call.ts';
import type { GatewayAnswer, GatewayAsker } from '../ask-gateway.ts';
import { noGateway, notFound } from './errors.ts';
import { readMembers } from './read-members.ts';

interface Question {
  readonly path: typeof PLAN_PATH | typeof CATALOG_PATH;
  readonly asked: CatalogRequest;
}

const schemas = {
  '/v1/plan': { path: PLAN_PATH, schema: planRequestSchema },
  '/v1/catalog': { path: CATALOG_PATH, schema: catalogRequestSchema },
} as const;

export const RELAYED_PATHS: readonly string[] = Object.keys(schemas);

export function isRelayed(pathname: string): pathname is keyof typeof schemas {
  return Object.hasOwn(schemas, pathname);
}

/** @throws {ApiError} that names the member. */
export function readQuestion(pathname: keyof typeof schemas, text: string): Question {
  const { path, schema } = schemas[pathname];
  return { path, asked: readMembers(schema, text) };
}

/**
 * @param seesProviders Whether the answer may name targets and providers.
 * @throws {ApiError} if no gateway answers, or it does not know the ApiKey.
 */
export async function relayQuestion(
  gateways: Pick<GatewayAsker, 'ask'>,
  { path, asked }: Question,
  seesProviders: boolean,
): Promise<unknown> {
  const { pod, status, body } = await askOne(gateways, path, asked);
  if (status === 404) throw unknownTo(body);
  if (status !== 200) throw noGateway(`the gateway ${pod} could not say (status ${status}); try again`);
  // As Kubernetes calls it.
  const named = { ...z.looseObject({}).parse(body), pod };
  // A newer gateway may add members, so only members that are known to name no provider pass.
  return path === PLAN_PATH && !seesProviders ? plainPlanAnswerSchema.parse(named) : named;
}

async function askOne(
  gateways: Pick<GatewayAsker, 'ask'>,
  path: Question['path'],
  asked: CatalogRequest,
): Promise<GatewayAnswer> {
  const answer = await gateways.ask(path, asked).catch((error: unknown) => {
    if (!(error instanceof CallFault)) throw error;
    throw noGateway(`a gateway failed: ${error.message}; try again`);
  });
  if (answer === undefined) throw noGateway('no gateway is ready; try again');
  return answer;
}

/** Also the 404 of an older gateway, which has no such endpoint. */
function unknownTo(body: unknown) {
  const { error } = z.looseObject({ error: z.string().optional() }).parse(body);
  return error?.startsWith('only ')
    ? noGateway('the gateway is older than this ledger and cannot plan requests; try again')
    : notFound(error ?? 'the gateway knows nothing of it');
}
