// What does the dashboard need of a cluster? Answered by Kubernetes for a signed-in person, and by a folder of manifests on a laptop.

/** Kubernetes' own path, query and body. */
export interface ClusterCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Its segments are encoded already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  /** The kind of a PATCH. */
  readonly contentType?: string;
}

export interface ClusterAnswer {
  readonly status: number;
  readonly body: unknown;
}

export type ClusterEvent =
  /** Whatever was known from before this version may be old. The first event is always one. */
  { readonly type: 'RESET'; readonly resourceVersion: string } | ClusterChange;

export interface ClusterChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Readonly<Record<string, unknown>>;
}

/** What one signed-in person can do; every call carries their own token, and Kubernetes says yes or no. */
export interface Cluster {
  /** The answer, whatever its status. @throws {ClusterAway} if the API server does not answer. */
  call(call: ClusterCall): Promise<ClusterAnswer>;
  /**
   * Changes of a collection, from the moment of the first `RESET` on, which is sent when the watch is open; the next is read only when the
   * last was taken. Ends with the signal.
   *
   * @param from The version of a list that is known: changes are those since then, as long as they are known.
   * @throws {ClusterRefusal} where the person may not (any more).
   * @throws {ClusterAway} without an answer before the first `RESET`; later it is tried again.
   */
  watch(path: string, signal: AbortSignal, from?: string): AsyncIterable<ClusterEvent>;
}

/** A no, in the form of the API server's own. */
export function failureAnswer(
  code: number,
  reason: string,
  message: string,
  details?: object,
): ClusterAnswer {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason };
  return { status: code, body: { ...body, ...(details === undefined ? {} : { details }), code } };
}

/** For the log: holds no secret. */
export class ClusterAway extends Error {}

export class ClusterRefusal extends Error {
  readonly answer: ClusterAnswer;

  constructor(answer: ClusterAnswer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

/** A user, as Kubernetes identifies them. */
export interface Person {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A question to the ledger, with the person's token. */
export interface LedgerQuestion {
  readonly method: 'GET' | 'POST';
  /** Such as `/v1/sums`. */
  readonly path: string;
  /** With its question mark, or empty. */
  readonly search: string;
  /** JSON. */
  readonly body?: string;
  readonly token: string;
  readonly signal: AbortSignal;
}

export interface Ledger {
  /** The answer as it came, whatever it is. @throws {LedgerAway} */
  ask(question: LedgerQuestion): Promise<{ readonly status: number; readonly text: string }>;
}

/** Its words are fit to be shown to people. */
export class LedgerAway extends Error {}
