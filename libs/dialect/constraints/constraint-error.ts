/** The output cannot be held to what the caller asks. The message may be shown to the caller. */
export class ConstraintError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConstraintError'
  }
}
