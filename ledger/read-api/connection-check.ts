// Relays a connection test to a gateway. Limits here which users may ask, and how often, so that it cannot be used to scan a network.

import type { Clock } from '../../core/clock.ts';
import {
  CHECK_PATH,
  type CheckAnswer,
  type CheckQuestion,
  checkAnswerSchema,
  checkQuestionSchema,
} from '../../core/contract/connection-check.ts';
import { CallFault } from '../../core/kube/own-call.ts';
import type { GatewayAsker } from '../ask-gateway.ts';
import { type Access, unknownToken } from './access.ts';
import { noGateway, notAllowed, tooBusy, tooMany } from './errors.ts';
import { readMembers } from './read-members.ts';

export const CONNECTION_CHECK_PATH = '/v1/connection-check';

/** Tests of one namespace in a minute, and tests of all namespaces in progress. */
const perMinuteMax = 20;
const atOnceMax = 8;
const minuteMs = 60_000;

export interface CheckPace {
  /** @throws {ApiError} where there were too many. */
  hold<T>(namespace: string, work: () => Promise<T>): Promise<T>;
}

export function openCheckPace(clock: Clock): CheckPace {
  const begun = new Map<string, readonly number[]>();
  let held = 0;
  return {
    async hold(namespace, work) {
      const sinceMs = clock.now() - minuteMs;
      for (const [name, times] of begun) if ((times.at(-1) ?? 0) <= sinceMs) begun.delete(name);
      const times = (begun.get(namespace) ?? []).filter((atMs) => atMs > sinceMs);
      const isTooMany = times.length >= perMinuteMax; // guard: check-pace
      if (isTooMany)
        throw tooMany(`${perMinuteMax} tests a minute for each namespace; try again in a minute`);
      if (held >= atOnceMax) throw tooBusy('too many connection tests at once; try again');
      begun.set(namespace, [...times, clock.now()]);
      held += 1;
      try {
        return await work();
      } finally {
        held -= 1;
      }
    },
  };
}

/** @throws {ApiError} that names the member; never with a value. */
export function readCheckQuestion(text: string): CheckQuestion {
  return readMembers(checkQuestionSchema, text);
}

/** The right to write Providers in that namespace: with it, health checks dial the same addresses. @throws {ApiError} */
export async function expectMayCheck(access: Access | undefined, token: string, namespace: string) {
  if (access === undefined) throw notAllowed('this ledger answers only the operator');
  for (const verb of ['create', 'patch'] as const) {
    const verdict = await access.judge(token, namespace, { verb, resource: 'providers' }); // guard: check-right
    if (verdict === 'unknown') throw unknownToken(access);
    if (verdict === 'allowed') return;
  }
  throw notAllowed(`you may not create providers.penstock.dev in the namespace ${namespace}`);
}

/** @throws {ApiError} where no gateway answers. */
export async function relayCheck(
  gateways: Pick<GatewayAsker, 'ask'>,
  question: CheckQuestion,
): Promise<CheckAnswer> {
  const answer = await gateways.ask(CHECK_PATH, question).catch((error: unknown) => {
    if (!(error instanceof CallFault)) throw error;
    throw noGateway(`a gateway failed: ${error.message}; try again`);
  });
  if (answer === undefined) throw noGateway('no gateway is ready; try again');
  if (answer.status === 404)
    throw noGateway('the gateway is older than this ledger and cannot test connections; try again');
  if (answer.status !== 200)
    throw noGateway(
      `the gateway ${answer.pod} could not test the connection (status ${answer.status}); try again`,
    );
  return checkAnswerSchema.parse(answer.body);
}
