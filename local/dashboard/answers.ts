// How does an API server say no? Its Status bodies, word for word, so that pages need to know of no second form.

import { type ClusterAnswer, failureAnswer } from '../../dashboard/cluster.ts';
import type { Problem } from '../../operator/resources/problems.ts';

/** The object in question. */
export interface Subject {
  /** Empty for Secrets. */
  readonly group: string;
  /** As in a path. */
  readonly plural: string;
  readonly kind: string;
  readonly name: string;
}

const ofPlural = ({ group, plural }: Subject): string => (group === '' ? plural : `${plural}.${group}`);
const ofKind = ({ group, kind }: Subject): string => (group === '' ? kind : `${kind}.${group}`);

const detailsOf = ({ group, plural, name }: Subject): object => ({
  name,
  ...(group === '' ? {} : { group }),
  kind: plural,
});

export const noSuchPath = (): ClusterAnswer =>
  failureAnswer(404, 'NotFound', 'the server could not find the requested resource');

export const noSuchMethod = (): ClusterAnswer =>
  failureAnswer(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');

export const notFound = (subject: Subject): ClusterAnswer =>
  failureAnswer(404, 'NotFound', `${ofPlural(subject)} "${subject.name}" not found`, detailsOf(subject));

export const alreadyExists = (subject: Subject): ClusterAnswer =>
  failureAnswer(
    409,
    'AlreadyExists',
    `${ofPlural(subject)} "${subject.name}" already exists`,
    detailsOf(subject),
  );

export const conflict = (
  subject: Subject,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): ClusterAnswer =>
  failureAnswer(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${ofPlural(subject)} "${subject.name}": ${why}`,
    detailsOf(subject),
  );

export const forbidden = (subject: Subject, why: string): ClusterAnswer =>
  failureAnswer(
    403,
    'Forbidden',
    `${ofPlural(subject)} "${subject.name}" is forbidden: ${why}`,
    detailsOf(subject),
  );

export const badRequest = (message: string): ClusterAnswer => failureAnswer(400, 'BadRequest', message);

export function invalid(subject: Subject, problems: readonly Problem[]): ClusterAnswer {
  const causes = problems.map(({ path, message }) => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${message}`,
    field: path,
  }));
  const sentences = causes.map(({ field, message }) => `${field}: ${message}`);
  const all = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  const { group, kind, name } = subject;
  return failureAnswer(422, 'Invalid', `${ofKind(subject)} "${name}" is invalid: ${all}`, {
    name,
    ...(group === '' ? {} : { group }),
    kind,
    causes,
  });
}

export const deleted = (subject: Subject, uid: string): ClusterAnswer => ({
  status: 200,
  body: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { ...detailsOf(subject), uid },
  },
});
