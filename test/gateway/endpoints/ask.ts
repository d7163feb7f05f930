// How do the endpoint tests ask the gateway, and what do they read out of its answers?

import { expect } from 'vitest';
import { z } from 'zod';
import { type RawRequest, rawCall } from '../../support/raw-client.ts';
import type { Call, Wall } from '../../support/wall.ts';
import { type Rig, testKey } from '../rig.ts';

export const bearer = { authorization: `Bearer ${testKey}` };

export type Answered = Awaited<ReturnType<typeof rawCall>>;

export function portOf(rig: Pick<Rig, 'url'>): number {
  return Number(new URL(rig.url).port);
}

/** With the rig's key, unless other headers are given. */
export function post(
  rig: Pick<Rig, 'url'>,
  path: string,
  body: NonNullable<RawRequest['body']>,
  headers: NonNullable<RawRequest['headers']> = bearer,
): Promise<Answered> {
  return rawCall({ port: portOf(rig) }, { method: 'POST', path, headers, body });
}

export function get(
  rig: Pick<Rig, 'url'>,
  path: string,
  headers: NonNullable<RawRequest['headers']> = {},
): Promise<Answered> {
  return rawCall({ port: portOf(rig) }, { path, headers });
}

const openAiError = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    code: z.string(),
    param: z.string().nullable(),
  }),
});

const messagesError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({ message: z.string().min(1), type: z.string(), code: z.string() }),
  request_id: z.string().regex(/^req_/),
});

/** The error of an answer in the OpenAI shape; throws where the body has any other. */
export function errorOf(answer: Pick<Answered, 'json'>): z.infer<typeof openAiError>['error'] {
  return openAiError.parse(answer.json).error;
}

/** The whole error body of an answer in the shape of the messages routes. */
export function messagesErrorOf(answer: Pick<Answered, 'json'>): z.infer<typeof messagesError> {
  return messagesError.parse(answer.json);
}

/** That a parameter was refused before any upstream was asked; gives the message. */
export function expectRefused(answer: Answered, param: string): string {
  const { message, ...error } = errorOf(answer);
  expect({ status: answer.status, ...error }).toEqual({
    status: 400,
    type: 'invalid_request_error',
    code: 'invalid_parameter',
    param,
  });
  expect(message).toContain(`'${param}'`);
  return message;
}

/** The latest call that an upstream got. */
export function latest(wall: Wall): Call {
  const call = wall.calls.at(-1);
  if (!call) throw new Error('The upstream was not called');
  return call;
}

const object = z.record(z.string(), z.unknown());

/** A JSON object to look into. */
export function recordOf(value: unknown): Record<string, unknown> {
  return object.parse(value);
}

/** A list of JSON objects. */
export function recordsOf(value: unknown): Record<string, unknown>[] {
  return z.array(object).parse(value);
}

/** One row for each value: what `test.each` takes. */
export function rowsOf(
  table: Readonly<Record<string, readonly unknown[]>>,
): readonly { readonly name: string; readonly value: unknown; readonly shown: string }[] {
  return Object.entries(table).flatMap(([name, values]) =>
    values.map((value) => ({ name, value, shown: show(value) })),
  );
}

/** A number that JSON has and JavaScript has not, such as 1e400. */
export class Spelled {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** JSON text in which spelled numbers stand as they are spelled. */
export function jsonOf(members: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(members).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${value instanceof Spelled ? value.text : JSON.stringify(value)}`,
  );
  return `{${parts.join(',')}}`;
}

function show(value: unknown): string {
  const text = value instanceof Spelled ? value.text : (JSON.stringify(value) ?? 'undefined');
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
