/** The exit codes of failures; 0 is success. */
export const EXIT_CODES = {
  /** Billing refused the request, or its answer reports a problem. */
  refused: 1,
  /** The command line or the environment is wrong; no request was sent. */
  usage: 2,
  /** Billing was not reached or could not answer: it is unknown whether a change was made. */
  unreachable: 3,
} as const

/** A failure whose message is printed for the operator. */
export class CommandError extends Error {
  readonly kind: keyof typeof EXIT_CODES

  constructor(kind: keyof typeof EXIT_CODES, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.kind = kind
  }
}
