// Which headers of messages do clouds take for Claude? They know the first version of the API alone, whatever the client speaks, and no
// sign-in at Anthropic.

/** Refused with 400: https://github.com/tombii/better-ccflare/issues/47. */
const refusedBeta = /^oauth-/;

/**
 * @param headers Names in lower case and values in turn.
 * @param version What `anthropic-version` is to say; undefined: the header is left out.
 */
export function claudeHeaders(headers: readonly string[], version: string | undefined): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    if (name === 'anthropic-version') {
      if (version !== undefined) kept.push(name, version);
      continue;
    }
    const known = name === 'anthropic-beta' ? betasOf(value) : value;
    if (known !== '' || value === '') kept.push(name, known);
  }
  return kept;
}

function betasOf(value: string): string {
  const betas = value.split(',').map((beta) => beta.trim());
  return betas.filter((beta) => beta !== '' && !refusedBeta.test(beta)).join(',');
}

/** As Foundry and Bedrock know it. What the later one forbids, this one takes. */
export const firstVersion = '2023-06-01';
