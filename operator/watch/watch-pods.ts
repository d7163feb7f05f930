// Which gateway pods are ready now, and is that known?

import { pods } from '../../core/kube/paths.ts';
import { type GatewayPod, readGatewayPod } from './gateway-pods.ts';
import type { Readings } from './readings.ts';

interface WatchedPods {
  /** By name. */
  ready(): readonly GatewayPod[];
  /** False while their watch is not open: there may be others by now. */
  areKnown(): boolean;
}

export function watchPods(
  readings: Readings,
  { namespace, gatewaySelector }: { readonly namespace: string; readonly gatewaySelector: string },
  onChange: () => void,
): WatchedPods {
  const ready = new Map<string, GatewayPod>();
  let areKnown = false;
  readings.start(
    {
      name: 'Pod',
      resource: pods,
      labelSelector: gatewaySelector,
      convert: (object) => ({ pod: readGatewayPod(object) }),
      onEvent({ type, key, object }) {
        const before = ready.get(key);
        const after = type === 'deleted' ? undefined : object.pod;
        if (isSamePod(before, after)) return;
        if (after === undefined) ready.delete(key);
        else ready.set(key, after);
        onChange();
      },
      onOpen(isOpen) {
        areKnown = isOpen;
        onChange();
      },
    },
    namespace,
  );
  return {
    ready: () => [...ready.values()].sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name))),
    areKnown: () => areKnown,
  };
}

function isSamePod(a: GatewayPod | undefined, b: GatewayPod | undefined): boolean {
  return (
    a?.uid === b?.uid &&
    a?.name === b?.name &&
    a?.ip === b?.ip &&
    a?.port === b?.port &&
    a?.tlsPort === b?.tlsPort
  );
}
