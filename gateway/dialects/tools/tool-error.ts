// How does a model learn that a tool failed, where the dialect has no flag for it?

/** The line before the result. */
export const toolErrorMark = 'The tool failed:';
