// Under which name does the ledger know an ApiKey? By `namespace/name`.

export interface KeyName {
  readonly namespace: string;
  readonly name: string;
}

export function splitName(apiKey: string): KeyName {
  const slash = apiKey.indexOf('/');
  return { namespace: apiKey.slice(0, slash), name: apiKey.slice(slash + 1) };
}

export function joinName({ namespace, name }: KeyName): string {
  return `${namespace}/${name}`;
}
