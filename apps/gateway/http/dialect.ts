/**
 * An interface with its own conventions for keys and errors. On routes of Anthropic's interface, the key may be in the
 * header `x-api-key`, and errors have the shape of `messages-error.ts`.
 */
export type Dialect = 'anthropic'
