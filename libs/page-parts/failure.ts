/** An answer that is not the wanted one; the message is for the viewer. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  /** The field of the request that is wrong. */
  readonly param: string | undefined
  /** When the server wants to be asked again. */
  readonly retryAfterS: number | undefined

  constructor(
    status: number,
    details: {
      code: string
      message: string
      param?: string | undefined
      retryAfterS?: number | undefined
    },
  ) {
    super(details.message)
    this.name = 'Failure'
    this.status = status
    this.code = details.code
    this.param = details.param
    this.retryAfterS = details.retryAfterS
  }

  /** The change may have been made: the answer is missing, not negative. */
  get isUnknown(): boolean {
    return this.code === 'outcome_unknown'
  }

  /** Nothing is wrong with the request: the server is busy, away or failing. */
  get mayPass(): boolean {
    return this.code === 'unreachable' || this.status === 429 || this.status >= 500
  }
}
