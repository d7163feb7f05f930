// What of a route can be edited? Its targets, aliases, price and callers.

import { EditDialog } from '../parts/edit-dialog.tsx';
import type { ModelRoute } from '../words/kube.ts';
import { effectsOfRouteEdit } from './edit-effects.ts';
import { RouteFields } from './route-fields.tsx';
import { checkRouteForm, routeFormOf, routePatch } from './route-form.ts';

interface EditRouteProps {
  readonly route: ModelRoute;
  readonly onClose: () => void;
  readonly whenDone: () => void;
}

export function EditRouteDialog({ route, onClose, whenDone }: EditRouteProps) {
  return (
    <EditDialog
      plural="modelroutes"
      object={route}
      formOf={routeFormOf}
      check={checkRouteForm}
      patchOf={routePatch}
      effectsOf={effectsOfRouteEdit}
      onClose={onClose}
      whenDone={whenDone}
    >
      {(form, problems, onInput) => (
        <RouteFields form={form} problems={problems} isNew={false} onInput={onInput} />
      )}
    </EditDialog>
  );
}
