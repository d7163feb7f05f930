// Does the Provider turn off the verification of certificates?

import type { ProviderSpec } from '../../resources/provider.ts';
import type { Finding } from '../verdict.ts';

export function certificateNotVerified({ tls }: ProviderSpec): Finding | undefined {
  if (tls?.insecureSkipVerify !== true) return undefined;
  return {
    reason: 'CertificateNotVerified',
    message:
      'spec.tls.insecureSkipVerify is true: any server that poses as the upstream is trusted, and receives its keys; ' +
      'name its authority in spec.tls.caRef instead',
  };
}
