// The leader keeps the certificates of gateways and ledger in two Secrets that the chart creates empty. It reads them once a minute, and
// renews what is due. An authority that is removed from its Secret by hand is replaced at once, and no longer trusted. While a Secret
// cannot be read or written, the last known certificates stay in use.

import type { Clock } from '../../core/clock.ts';
import {
  authoritySecretName,
  GATEWAY_SERVER_NAME,
  type InternalTls,
  ledgerSecretName,
  ledgerServerNames,
  readKeyPair,
  TLS_DATA,
} from '../../core/contract/internal-tls.ts';
import type { KubeClient } from '../../core/kube/client.ts';
import type { Log } from '../../core/kube/log.ts';
import { isRecord, type KubeObject } from '../../core/kube/object.ts';
import { readObject, replaceObject } from '../../core/kube/patch.ts';
import { objectPath, secrets } from '../../core/kube/paths.ts';
import type { Stored } from './plan.ts';
import { renewCertificates } from './renew.ts';

interface KeeperParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly instance: string;
  /** Of the release. */
  readonly namespace: string;
  readonly hasLedger: boolean;
  readonly log: Log;
}

export interface CertificateKeeper {
  /** Settled after the first look, whatever came of it. */
  readonly looked: Promise<void>;
  /** For the pointer; undefined while none is known. */
  forGateways(): InternalTls | undefined;
  /** The last look failed: nothing is renewed. */
  isFailing(): boolean;
  close(): void;
}

const lookMs = 60_000;
/** After a look that failed, as while an upgrade applies the rights. */
const againMs = 5_000;
const callMs = 5_000;

/** In the Secret of the authority, beside its own certificate: what gateways show. */
const gatewayData = { certificate: 'gateway.crt', key: 'gateway.key' } as const;

export function keepCertificates({
  client,
  clock,
  instance,
  namespace,
  hasLedger,
  log,
}: KeeperParts): CertificateKeeper {
  const serverNames = {
    gateway: [GATEWAY_SERVER_NAME],
    ...(hasLedger ? { ledger: ledgerServerNames(instance, namespace) } : {}),
  };
  const pathOf = (name: string) => objectPath(secrets, { namespace, name });
  let current: InternalTls | undefined;
  let reported: string | undefined;
  let isClosed = false;
  let cancelTimer: (() => void) | undefined;
  return {
    looked: look(),
    forGateways: () => current,
    isFailing: () => reported !== undefined,
    close() {
      isClosed = true;
      cancelTimer?.();
    },
  };

  async function look(): Promise<void> {
    let nextMs = lookMs;
    try {
      await renew();
      reported = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== reported && !isClosed)
        log('error', 'internal TLS certificates cannot be renewed; the present ones stay in use', {
          reason,
        });
      reported = reason;
      nextMs = againMs;
    }
    if (!isClosed) cancelTimer = clock.setTimer(nextMs, () => void look());
  }

  async function renew(): Promise<void> {
    const [authority, ledger] = await Promise.all([
      read(authoritySecretName(instance)),
      hasLedger ? read(ledgerSecretName(instance)) : undefined,
    ]);
    const before = storedIn(authority, ledger);
    const { stored, made } = await renewCertificates(before, serverNames, instance, clock.wallMs());
    const { gateway } = stored.leaves;
    const trusted = stored.trusted.join('');
    await write(authority, {
      [TLS_DATA.trusted]: trusted,
      [TLS_DATA.certificate]: stored.authority.certificate,
      [TLS_DATA.key]: stored.authority.key,
      [gatewayData.certificate]: gateway?.certificate,
      [gatewayData.key]: gateway?.key,
    });
    if (ledger !== undefined)
      await write(ledger, {
        [TLS_DATA.certificate]: stored.leaves.ledger?.certificate,
        [TLS_DATA.key]: stored.leaves.ledger?.key,
      });
    if (made.length > 0) log('info', 'internal TLS certificates were issued', { made });
    current = gateway && { ...gateway, trusted };
  }

  async function read(name: string): Promise<KubeObject> {
    return await readObject(client, pathOf(name), { timeoutMs: callMs });
  }

  /** Writes only a difference. @throws {KubeError} 409 after a concurrent write by another client: the next look reads that. */
  async function write(
    secret: KubeObject,
    texts: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    const before = isRecord(secret.data) ? secret.data : {};
    const wanted = Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[name, Buffer.from(text).toString('base64')] as const],
    );
    if (wanted.every(([name, value]) => before[name] === value)) return;
    const data = { ...before, ...Object.fromEntries(wanted) };
    await replaceObject(client, pathOf(secret.metadata.name), { ...secret, data }, { timeoutMs: callMs });
  }
}

function storedIn(authority: KubeObject, ledger: KubeObject | undefined): Stored {
  const text = textOf(authority);
  return {
    authority: readKeyPair(text),
    trusted: splitBundle(text(TLS_DATA.trusted) ?? ''),
    leaves: { gateway: readKeyPair(text, gatewayData), ledger: ledger && readKeyPair(textOf(ledger)) },
  };
}

function splitBundle(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? [];
}

/** The values of a Secret. */
function textOf({ data }: KubeObject): (name: string) => string | undefined {
  return (name) => {
    const value = isRecord(data) ? data[name] : undefined;
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined;
  };
}
