/** The constraint is well formed, but the engine fails to compile it: the call ends without a token. */
export class CompileError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CompileError'
  }
}
