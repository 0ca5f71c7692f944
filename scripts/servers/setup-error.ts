/** Something that a person must put right. Its message is one clear sentence and is all that they see. */
export class SetupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SetupError'
  }
}
