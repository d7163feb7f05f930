// Was the link of local mode opened? The part after its # is sent to no server by the browser, and is gone from the address at once.

/** Once: the token is in no address and no history from here on. */
export function takeLinkedToken(): string | undefined {
  const [, token] = /^#token=([\w.~-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

/** A link that is opened in an existing tab changes only the hash, which loads nothing. @returns stops following. */
export function followLinks(): () => void {
  const follow = () => {
    if (location.hash.startsWith('#token=')) location.reload();
  };
  addEventListener('hashchange', follow);
  return () => removeEventListener('hashchange', follow);
}
