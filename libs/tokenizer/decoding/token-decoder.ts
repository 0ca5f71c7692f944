/** Ids to text. Ids without a token are nothing; bytes that are no UTF-8 become U+FFFD. */
export type TokenDecoder = {
  readonly decode: (ids: ArrayLike<number>) => string
  readonly stream: () => TextStream
}

/** A text that follows another one, id by id. Synchronous: this runs once a token. */
export type TextStream = {
  /** What this id completes: often one token's text, `''` while a character is unfinished. */
  readonly push: (id: number) => string
  /** What is left of an unfinished character, as U+FFFD. */
  readonly flush: () => string
}
