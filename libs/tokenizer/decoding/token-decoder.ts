/** Decodes ids to text. Unknown ids add nothing; invalid UTF-8 becomes U+FFFD. */
export type TokenDecoder = {
  readonly decode: (ids: ArrayLike<number>) => string
  readonly stream: () => TextStream
}

/** Decodes the continuation of a text, id by id. Synchronous, because it runs once per token. */
export type TextStream = {
  /** Returns the text that this id completes: usually the token's own text, or `''` while a character is incomplete. */
  readonly push: (id: number) => string
  /** Returns the rest of an incomplete character, as U+FFFD. */
  readonly flush: () => string
}
