/** The constraint is malformed or of a kind that this engine does not have. The message is for the caller. */
export class ConstraintError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConstraintError'
  }
}
