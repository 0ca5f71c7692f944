/** Encodes texts to ids. */
export type Encoder = {
  /**
   * Encodes each text independently; special tokens written in a text become their ids. `whole` adds the special
   * tokens that the tokenizer's post-processor puts around a complete text. A lone surrogate is read as U+FFFD.
   */
  encode(texts: readonly string[], options: { readonly whole: boolean }): Promise<Uint32Array[]>
}
