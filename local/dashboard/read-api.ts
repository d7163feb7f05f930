// How do pages ask the ledger of a laptop? By its read API, as on a cluster, which here listens for this process alone and admits the caller that
// is signed in.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { isSameText } from '../../dashboard/guard/same-origin.ts';
import { type OpenLedger, openLedger } from '../../dashboard/ledger.ts';
import type { SignIn } from '../../dashboard/sign-in.ts';
import { openGatewayAsker } from '../../ledger/ask-gateway.ts';
import { readBudgets } from '../../ledger/budgets.ts';
import { buildReadApi, type ReadApiParts } from '../../ledger/read-api/read-api.ts';
import type { LedgerStore } from '../../ledger/store/store.ts';
import type { LocalObjects } from './objects.ts';

interface LocalReadApi {
  readonly ledger: OpenLedger;
  close(): Promise<void>;
}

export async function startReadApi(options: {
  readonly store: LedgerStore;
  readonly objects: LocalObjects;
  readonly signIn: SignIn;
  /** Admits programs, beside the sessions of browsers. */
  readonly readToken: string;
  readonly readTokenFile: string;
  readonly clock: Clock;
  readonly gateway: { readonly url: string; readonly token: string };
  onFailure(error: unknown): void;
}): Promise<LocalReadApi> {
  const { store, objects, signIn, readToken, clock } = options;
  const { hostname, port: gatewayPort } = new URL(options.gateway.url);
  const gateways = openGatewayAsker({
    clock,
    // There is one.
    random: () => 0,
    readyPods: () => [{ uid: 'local', name: 'local', ip: hostname, port: Number(gatewayPort) }],
    token: () => options.gateway.token,
  });
  const parts: ReadApiParts = {
    store,
    gateways,
    clock,
    access: {
      remedy: `send the token of ${options.readTokenFile} as Authorization: Bearer …; each start makes a new one`,
      async judge(token) {
        const isKnown = isSameText(token, readToken) || (await signIn.personOf(token)) !== undefined;
        return isKnown ? 'allowed' : 'unknown';
      },
    },
    budgets: () => objects.list('ApiKey', undefined).flatMap((object) => readBudgets(object) ?? []),
    // The gateway asks the store itself.
    token: () => undefined,
    onFailure: (error) => options.onFailure(error),
  };
  const server = buildReadApi(parts).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ledger = openLedger(`http://127.0.0.1:${port}`, clock);
  return {
    ledger,
    async close() {
      ledger.close();
      gateways.close();
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}
