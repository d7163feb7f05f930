// Where is the object of that namespace and name?

interface Place {
  readonly namespace: string;
  readonly name: string;
}

export function indexByPlace<T extends Place>(records: readonly T[]) {
  const byNamespace = new Map<string, Map<string, T>>();
  for (const record of records) {
    const names = byNamespace.get(record.namespace) ?? new Map<string, T>();
    byNamespace.set(record.namespace, names.set(record.name, record));
  }
  return (namespace: string, name: string): T | undefined => byNamespace.get(namespace)?.get(name);
}
