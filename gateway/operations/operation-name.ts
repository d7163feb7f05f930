// Which things can a client ask of a model? One folder of `gateway/operations` each.

export type OperationName = 'generate' | 'count-tokens';
