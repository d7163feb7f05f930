// Which view is shown where?

import { KeyDetails } from '../keys/details.tsx';
import { Keys } from '../keys/list.tsx';
import { NewKey } from '../keys/new-key.tsx';
import { Models } from '../models/models.tsx';
import { PlanView } from '../models/plan-view.tsx';
import { Overview } from '../overview/overview.tsx';
import { Playground } from '../playground/playground.tsx';
import { Providers } from '../providers/list.tsx';
import { NewProvider } from '../providers/new-provider.tsx';
import { NewRoute } from '../providers/new-route.tsx';
import { ProviderDetails } from '../providers/provider.tsx';
import { RouteDetails } from '../providers/route.tsx';
import { Requests } from '../requests/requests.tsx';
import { Link } from './context.tsx';
import type { Place } from './place.ts';

export function View({ place }: { readonly place: Place }) {
  switch (place.view) {
    case 'overview':
      return <Overview />;
    case 'requests':
      return <Requests />;
    case 'keys':
      return <Keys />;
    case 'new-key':
      return <NewKey />;
    case 'key':
      return <KeyDetails namespace={place.namespace} name={place.name} />;
    case 'models':
      return <Models />;
    case 'plan':
      return <PlanView />;
    case 'playground':
      return <Playground />;
    case 'providers':
      return <Providers />;
    case 'new-provider':
      return <NewProvider />;
    case 'new-route':
      return <NewRoute />;
    case 'provider':
      return <ProviderDetails namespace={place.namespace} name={place.name} />;
    case 'route':
      return <RouteDetails namespace={place.namespace} name={place.name} />;
    case 'not-found':
      return (
        <>
          <h1 tabIndex={-1}>Page not found</h1>
          <p>
            <Link to="/">Open the overview</Link>
          </p>
        </>
      );
  }
}
