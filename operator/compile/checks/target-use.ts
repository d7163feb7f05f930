// A target and its Provider: the texts that all checks of targets share.

export interface TargetUse {
  readonly target: string;
  /** Namespace of the route. */
  readonly namespace: string;
  readonly provider: { readonly namespace: string; readonly name: string };
}

/** The Provider as its own namespace writes it: without the namespace at home. */
export function providerName(use: TargetUse): string {
  const { namespace, name } = use.provider;
  return namespace === use.namespace ? name : `${namespace}/${name}`;
}
