// What is sent beside metrics? One span, one event, as plain values.

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** The parent is in another process. */
  readonly isParentRemote: boolean;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly kind: 'server' | 'client';
  /** Unix milliseconds, with a fraction. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly isError: boolean;
  readonly attributes: Attributes;
}

export interface LogEvent {
  readonly name: string;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly attributes: Attributes;
  /** The span that it is about, where there is one. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}
