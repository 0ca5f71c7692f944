/** Text to ids. */
export type Encoder = {
  readonly name: 'native' | 'javascript'
  /**
   * The ids of each text by itself; special tokens written in a text become their ids. `whole` puts around each what
   * the model's own tokenizer puts around a text that stands by itself. A lone surrogate is read as U+FFFD.
   */
  encode(texts: readonly string[], options: { readonly whole: boolean }): Promise<Uint32Array[]>
  close(): Promise<void>
}
