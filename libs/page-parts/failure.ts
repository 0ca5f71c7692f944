/** A failed request. The message is for the viewer. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  /** The name of the request's field that is wrong. */
  readonly param: string | undefined
  /** How long the server asks to wait before the next try. */
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

  /** True if the change may have been made, because no answer came. */
  get isUnknown(): boolean {
    return this.code === 'outcome_unknown'
  }

  /** True if the request itself is not wrong: the server is busy, unreachable or failing. */
  get mayPass(): boolean {
    return this.code === 'unreachable' || this.status === 429 || this.status >= 500
  }
}
