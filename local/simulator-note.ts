// Do the manifests look for the simulator where it is not? They are what `kubectl apply` takes, so they
// name its port themselves, and a port moved by the environment does not move there.

import type { Manifests } from './manifests.ts';

const usualPort = 9100;

/** A sentence, where a Provider names the usual port and the simulator listens on another. */
export function namesSimulatorElsewhere({ providers }: Manifests, port: number): string | undefined {
  if (port === usualPort) return undefined;
  const names = providers.filter(({ spec }) => namesUsualPort(spec)).map(({ metadata }) => metadata.name);
  if (names.length === 0) return undefined;
  return (
    `The simulator listens on port ${port}, and the Providers ${names.join(', ')} look for it on ${usualPort}: ` +
    `write ${port} in their baseURL and in penstock.dev/allowed-hosts of their Secret.`
  );
}

function namesUsualPort(spec: unknown): boolean {
  if (typeof spec !== 'object' || spec === null || !('baseURL' in spec)) return false;
  const address = String(spec.baseURL);
  return /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(?=:9100\b)/.test(address);
}
