/** The constraint is well formed, but the engine fails to make a grammar of it: it ends the call without a token. */
export class CompileError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CompileError'
  }
}
