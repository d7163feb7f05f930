// Was the link of local mode opened? What stands behind its # is sent to no server by the browser, and is gone from the address at once.

import { useEffect } from 'preact/hooks';

/** @param use what is done with the token, be the page loaded by the link or there already. */
export function useLinkedToken(use: (token: string) => void): void {
  useEffect(() => {
    const take = () => {
      const [, token] = /^#token=([\w.~-]+)$/.exec(location.hash) ?? [];
      if (token === undefined) return;
      history.replaceState(null, '', location.pathname + location.search);
      use(token);
    };
    take();
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, [use]);
}
