// How is one question asked in a dialect, with nothing that could be left out?

import { DIALECTS, type DialectName, type QuestionForm } from './dialects.ts';

/**
 * @param tokensMax Of the answer, where the dialect wants it said; absent: the least that upstreams take.
 * @param form Of the question, where the dialect takes it so.
 */
export function smallestRequest(
  name: DialectName,
  text: string,
  { tokensMax, form }: { readonly tokensMax?: number; readonly form?: QuestionForm } = {},
): Readonly<Record<string, unknown>> {
  const { question, bound } = DIALECTS[name];
  const isTurns = (question.forms.find((one) => one === form) ?? question.forms[0]) === 'turns';
  return {
    [question.member]: isTurns ? [{ role: 'user', content: text }] : text,
    ...(bound.isRequired ? { [bound.member]: tokensMax ?? bound.min } : {}),
  };
}
