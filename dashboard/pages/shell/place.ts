// Which view does a path mean? And which path does a view have?

export type Place =
  | {
      readonly view:
        | 'overview'
        | 'requests'
        | 'keys'
        | 'new-key'
        | 'models'
        | 'plan'
        | 'playground'
        | 'providers'
        | 'new-provider'
        | 'new-route'
        | 'not-found';
    }
  | { readonly view: 'key' | 'provider' | 'route'; readonly namespace: string; readonly name: string };

const plain = {
  '/': 'overview',
  '/requests': 'requests',
  '/keys': 'keys',
  '/keys/new': 'new-key',
  '/models': 'models',
  '/models/plan': 'plan',
  '/playground': 'playground',
  '/providers': 'providers',
  '/providers/new': 'new-provider',
  '/routes/new': 'new-route',
} as const;

const ofOne = { keys: 'key', providers: 'provider', routes: 'route' } as const;

export function placeOf(path: string): Place {
  const tidy = path.length > 1 ? path.replace(/\/+$/, '') : path;
  if (Object.hasOwn(plain, tidy)) return { view: plain[tidy as keyof typeof plain] };
  const [, kind = '', namespace = '', name = '', ...more] = tidy.split('/');
  if (more.length > 0 || namespace === '' || name === '' || !Object.hasOwn(ofOne, kind))
    return { view: 'not-found' };
  const names = [namespace, name].map(decoded);
  if (names.includes(undefined)) return { view: 'not-found' };
  return { view: ofOne[kind as keyof typeof ofOne], namespace: names[0] ?? '', name: names[1] ?? '' };
}

export function pathOf(kind: keyof typeof ofOne, namespace: string, name: string): string {
  return `/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
