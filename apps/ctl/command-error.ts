/** What the process exits with; 0 is that all went well. */
export const EXIT_CODES = {
  /** Billing refused it, or its answer is bad news. */
  refused: 1,
  /** The command line or the environment is wrong; nothing was asked. */
  usage: 2,
  /** Billing was not reached, or could not answer: whether a change was made is not known. */
  unreachable: 3,
} as const

/** A failure that the operator is told about, in the words of its message. */
export class CommandError extends Error {
  readonly kind: keyof typeof EXIT_CODES

  constructor(kind: keyof typeof EXIT_CODES, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.kind = kind
  }
}
