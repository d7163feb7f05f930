// Can thinking of an earlier turn go back to this upstream? Only as the very block it came in: one
// without its signature, or with that of another provider, spoils the whole conversation.

import type { PartOf } from '../conversation.ts';

export function nativeBlockOf({
  text,
  opaque,
}: PartOf<'thinking'>): Readonly<Record<string, unknown>> | undefined {
  switch (opaque?.state.kind) {
    case 'signature':
      return { type: 'thinking', thinking: text, signature: opaque.state.value };
    case 'redacted':
      return { type: 'redacted_thinking', data: opaque.state.value };
    case 'encrypted':
    case 'details':
    case undefined:
      return undefined;
  }
}
