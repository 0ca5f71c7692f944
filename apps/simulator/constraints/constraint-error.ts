/** The constraint is malformed, or this engine does not support its kind. The message is for the caller. */
export class ConstraintError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConstraintError'
  }
}
