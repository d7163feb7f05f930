// What is inside rendered objects: the pods they would make, and the objects that the demo applies.

import { z } from 'zod';
import { objectSchema, type Rendered } from './helm.ts';

const podSpec = z.looseObject({ containers: z.array(z.looseObject({ name: z.string() })) });
const withTemplate = z.looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: podSpec }) }) });
const pod = z.looseObject({ spec: podSpec });

export type PodSpec = z.infer<typeof podSpec>;

/** At most one. */
export function podsOf(object: Rendered): PodSpec[] {
  if (object.kind === 'Pod') return [pod.parse(object).spec];
  if (['Deployment', 'Job'].includes(object.kind)) return [withTemplate.parse(object).spec.template.spec];
  return [];
}

const demoMap = z.looseObject({ data: z.object({ 'objects.json': z.string() }) });

export function demoObjects(rendered: readonly Rendered[]): Rendered[] {
  return rendered
    .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'penstock-demo')
    .flatMap((map) => z.array(objectSchema).parse(JSON.parse(demoMap.parse(map).data['objects.json'])));
}
