// Where do the pages begin? At the one element of index.html.

import { render } from 'preact';
import { App } from './shell/app.tsx';

const root = document.getElementById('app');
if (root !== null) {
  render(<App />, root);
  // A page that the browser keeps for its Back button may have shown a key: it is kept empty, and starts again.
  addEventListener('pagehide', ({ persisted }) => persisted && render(null, root));
  addEventListener('pageshow', ({ persisted }) => persisted && render(<App />, root));
}
