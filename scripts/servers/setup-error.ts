/** An error that the user must fix. Its message is one clear sentence, printed without a stack. */
export class SetupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SetupError'
  }
}
