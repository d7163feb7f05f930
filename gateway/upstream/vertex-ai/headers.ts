// Which headers of messages does Vertex AI take? Betas, but not the one with which a client signs in at Anthropic; the version is in the body.

import type { HeadersFor } from '../headers.ts';

/** Refused with 400: https://github.com/tombii/better-ccflare/issues/47. */
const refusedBeta = /^oauth-/;

export const vertexHeaders: HeadersFor = ({ dialect }, headers) => {
  if (dialect !== 'anthropic-messages') return [...headers];
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (name === 'anthropic-version') continue;
    const known = name === 'anthropic-beta' ? betasOf(value) : value;
    if (known !== '' || value === '') kept.push(name, known);
  }
  return kept;
};

function betasOf(value: string): string {
  const betas = value.split(',').map((beta) => beta.trim());
  return betas.filter((beta) => beta !== '' && !refusedBeta.test(beta)).join(',');
}
