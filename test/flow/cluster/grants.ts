// What do the roles of a rendered chart grant to a ServiceAccount, and what of it did a request need? Read from the rendered
// objects and from the audit log, so that one can be held against the other.

import { z } from 'zod';
import type { AuditEvent } from '../../cluster/audit.ts';
import type { RenderedObject } from '../../cluster/install.ts';

/** One verb on one resource, through one rule of one role. */
export interface Grant {
  /** `Role penstock-tables/penstock-gateway`. */
  readonly role: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: every object. */
  readonly names: readonly string[];
  /** Which of the role's rules. */
  readonly rule: number;
  /** Where it is bound; `*`: in the whole cluster. */
  readonly namespaces: readonly string[] | '*';
}

const roleSchema = z.object({
  rules: z.array(
    z.strictObject({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).default([]),
      verbs: z.array(z.string()),
    }),
  ),
});

const bindingSchema = z.object({
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string() })),
});

export function grantsTo(
  rendered: readonly RenderedObject[],
  account: { readonly namespace: string; readonly name: string },
): Grant[] {
  /** Where each role is bound. */
  const bound = new Map<string, readonly string[] | '*'>();
  for (const object of rendered) {
    if (object.kind !== 'ClusterRoleBinding' && object.kind !== 'RoleBinding') continue;
    const { roleRef, subjects } = bindingSchema.parse(object);
    const isMeant = subjects.some(
      ({ kind, name, namespace }) =>
        kind === 'ServiceAccount' && name === account.name && namespace === account.namespace,
    );
    if (!isMeant) continue;
    const place = object.metadata.namespace;
    const role = roleName(roleRef.kind, roleRef.name, place);
    const before = bound.get(role) ?? [];
    bound.set(role, place === undefined || before === '*' ? '*' : [...before, place]);
  }
  return [...bound].flatMap(([role, namespaces]) => grantsOf(rendered, role, namespaces));
}

/** Of the whole chart, sorted: `ClusterRole penstock-view`. */
export function roleNames(rendered: readonly RenderedObject[]): string[] {
  return rendered.filter(isRole).map(nameOf).sort();
}

/** What a role gives where it is bound. */
export function grantsOf(
  rendered: readonly RenderedObject[],
  role: string,
  namespaces: readonly string[] | '*',
): Grant[] {
  return rendered.flatMap((object) => {
    if (!isRole(object) || nameOf(object) !== role) return [];
    return roleSchema.parse(object).rules.flatMap(({ apiGroups, resources, resourceNames, verbs }, rule) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((path) => {
          const [resource = '', subresource = ''] = path.split('/');
          return verbs.map((verb) => ({
            role,
            verb,
            group,
            resource,
            subresource,
            names: resourceNames,
            rule,
            namespaces,
          }));
        }),
      ),
    );
  });
}

/** That role but for the verbs on resources (`apikeys/status`) that are to go. */
export function roleWithout(
  role: RenderedObject,
  goes: (resource: string, verb: string, ruleIndex: number) => boolean,
): RenderedObject {
  const rules = roleSchema.parse(role).rules.flatMap(({ resourceNames, ...rule }, index) =>
    rule.resources.map((resource) => ({
      ...rule,
      ...(resourceNames.length === 0 ? {} : { resourceNames }),
      resources: [resource],
      verbs: rule.verbs.filter((verb) => !goes(resource, verb, index)),
    })),
  );
  return { ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) };
}

export function isRole({ kind }: RenderedObject): boolean {
  return kind === 'ClusterRole' || kind === 'Role';
}

export function nameOf({ kind, metadata }: RenderedObject): string {
  return roleName(kind, metadata.name, metadata.namespace);
}

function roleName(kind: string, name: string, namespace: string | undefined): string {
  return kind === 'Role' ? `Role ${namespace}/${name}` : `ClusterRole ${name}`;
}

/** Was it needed for this request? More than one may be: a server-side apply that made its object is a create and a patch. */
export function isUsedBy(grant: Grant, event: AuditEvent): boolean {
  const isMade = event.verb === 'patch' && event.status === 201;
  return covers(grant, event) || (isMade && covers(grant, { ...event, verb: 'create' }));
}

/** Does it allow what this request asks for by its verb? */
export function covers(grant: Grant, event: AuditEvent): boolean {
  const { namespaces, names } = grant;
  return (
    grant.verb === event.verb &&
    grant.group === event.group &&
    grant.resource === event.resource &&
    grant.subresource === event.subresource &&
    (names.length === 0 || names.includes(event.name)) &&
    (namespaces === '*' || namespaces.includes(event.namespace))
  );
}

/** As a person reads it: `list secrets (Role penstock-tables/penstock-operator)`. */
export function describeGrant({ role, verb, group, resource, subresource, names }: Grant): string {
  const what = [`${resource}${group === '' ? '' : `.${group}`}`, subresource].filter(Boolean).join('/');
  return `${verb} ${[what, ...names].join(' ')} (${role})`;
}

export function describeUse({ verb, uri, status }: AuditEvent): string {
  return `${verb} ${uri}: ${status}`;
}
