/**
 * Billing could not be reached, or did not answer in time. Unless `nothingDone` is true, the call may have taken
 * effect. Either repeat the call with the same reservation id, or refuse the caller's request.
 */
export class BillingUnavailable extends Error {
  /** The call was not sent, or billing refused it because it was overloaded: there is nothing to undo. */
  readonly nothingDone: boolean

  constructor(reason: string, options: { cause?: unknown; nothingDone?: boolean } = {}) {
    super(`billing is unavailable: ${reason}`, { cause: options.cause })
    this.name = 'BillingUnavailable'
    this.nothingDone = options.nothingDone ?? false
  }
}
