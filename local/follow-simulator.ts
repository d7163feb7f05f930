// Where is the simulator? The quickstart is what `kubectl apply` takes, so its files name port 9100. If the simulator listens
// elsewhere, its Providers follow.

import { isRecord } from '../core/kube/object.ts';
import type { Manifests } from './manifests.ts';

const usualPort = 9100;
const address = /(?<=^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):)9100(?!\d)/;
/** The shipped ones. Others may name a real server that has the port which the simulator left. */
const shipped: ReadonlySet<string> = new Set(['default/first', 'default/second', 'default/down']);
const shippedSecret = 'default/simulator-keys';
const hostsAnnotation = 'penstock.dev/allowed-hosts';

/** The shipped Providers and their Secret, at the port of the simulator; the rest as it is. */
export function followSimulator(manifests: Manifests, port: number): Manifests {
  if (port === usualPort) return manifests;
  return {
    ...manifests,
    providers: manifests.providers.map((provider) => {
      const { metadata, spec } = provider;
      if (!shipped.has(`${metadata.namespace}/${metadata.name}`) || !namesUsualPort(spec)) return provider;
      return { ...provider, spec: { ...spec, baseURL: spec.baseURL.replace(address, String(port)) } };
    }),
    secrets: manifests.secrets.map((secret) => {
      const hosts = secret.annotations[hostsAnnotation];
      if (`${secret.namespace}/${secret.name}` !== shippedSecret || hosts === undefined) return secret;
      const followed = hosts.replace(/(?<=(?:127\.0\.0\.1|localhost|\[::1\]):)9100(?!\d)/g, String(port));
      return { ...secret, annotations: { ...secret.annotations, [hostsAnnotation]: followed } };
    }),
  };
}

/** A sentence, where other Providers name the usual port and the simulator listens on another. */
export function namesSimulatorElsewhere({ providers }: Manifests, port: number): string | undefined {
  if (port === usualPort) return undefined;
  const names = providers
    .filter(
      ({ metadata, spec }) => namesUsualPort(spec) && !shipped.has(`${metadata.namespace}/${metadata.name}`),
    )
    .map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  return (
    `The simulator listens on port ${port}. If ${names.join(', ')} should reach it, write ${port} in place of ` +
    `${usualPort} in their baseURL and in penstock.dev/allowed-hosts of their Secret.`
  );
}

function namesUsualPort(spec: unknown): spec is { readonly baseURL: string } {
  return isRecord(spec) && typeof spec.baseURL === 'string' && address.test(spec.baseURL);
}
