// What is inside rendered objects: the pods they would make, and the objects that the demo applies.

import { z } from 'zod';
import type { Rendered } from './helm.ts';

const podSpec = z.looseObject({
  containers: z.array(z.looseObject({ name: z.string(), env: z.array(z.looseObject({})).optional() })),
  volumes: z.array(z.looseObject({ secret: z.unknown().optional() })).optional(),
});
const withTemplate = z.looseObject({
  spec: z.looseObject({ template: z.looseObject({ spec: podSpec }) }),
});
const cronJob = z.looseObject({ spec: z.looseObject({ jobTemplate: withTemplate }) });
const pod = z.looseObject({ spec: podSpec });

export type PodSpec = z.infer<typeof podSpec>;

/** At most one. */
export function podsOf(object: Rendered): PodSpec[] {
  if (object.kind === 'Pod') return [pod.parse(object).spec];
  if (object.kind === 'CronJob') return [cronJob.parse(object).spec.jobTemplate.spec.template.spec];
  if (['Deployment', 'Job'].includes(object.kind)) return [withTemplate.parse(object).spec.template.spec];
  return [];
}

const demoMap = z.looseObject({ data: z.object({ 'objects.json': z.string() }) });

const demoObject = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string() }),
});
export type DemoObject = z.infer<typeof demoObject>;

export function demoObjects(rendered: readonly Rendered[]): DemoObject[] {
  return z.array(demoObject).parse(objectsIn(rendered, 'penstock-demo'));
}

/** TenantPolicies that the values stand for. */
export function policyObjects(rendered: readonly Rendered[]) {
  return z
    .array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) }))
    .parse(objectsIn(rendered, 'penstock-tenant-policies'));
}

function objectsIn(rendered: readonly Rendered[], name: string): unknown[] {
  return rendered
    .filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
    .flatMap((map) => z.array(z.unknown()).parse(JSON.parse(demoMap.parse(map).data['objects.json'])));
}
