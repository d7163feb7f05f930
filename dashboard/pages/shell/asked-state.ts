// What of an answer may be shown while something else is asked? Of the same view, all of it, until the next one is there; of another view,
// nothing: rows of one namespace below the name of another would be wrong, however busy they look.

export interface AskedState<Answer, Fault> {
  /** The question of `answer` and `error`. */
  readonly question?: string | undefined;
  readonly view?: string | undefined;
  readonly answer?: Answer;
  readonly error?: Fault;
  readonly isAsking: boolean;
}

export function shownOf<Answer, Fault>(
  state: AskedState<Answer, Fault>,
  question: string | undefined,
  view: string | undefined,
): { readonly answer: Answer | undefined; readonly error: Fault | undefined; readonly isAsking: boolean } {
  const isSameView = state.view === view;
  return {
    answer: isSameView ? state.answer : undefined,
    error: isSameView ? state.error : undefined,
    // Before the question is sent it is a new one already.
    isAsking: state.isAsking || state.question !== question,
  };
}
