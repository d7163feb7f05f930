// Which view is shown where?

import { KeyDetails } from '../keys/details.tsx';
import { Keys } from '../keys/list.tsx';
import { NewKey } from '../keys/new-key.tsx';
import { Link } from './context.tsx';
import type { Place } from './place.ts';

export function View({ place }: { readonly place: Place }) {
  switch (place.view) {
    case 'keys':
      return <Keys />;
    case 'new-key':
      return <NewKey />;
    case 'key':
      return <KeyDetails namespace={place.namespace} name={place.name} />;
    default:
      return (
        <>
          <h1 tabIndex={-1}>There is nothing here</h1>
          <p>
            No view has this address. <Link to="/">Go to the overview</Link>
          </p>
        </>
      );
  }
}
