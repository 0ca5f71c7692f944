/**
 * Billing could not be reached, or did not answer in time. The call may have taken effect, unless `nothingDone`: repeat it
 * with the same reservation id, or refuse the caller.
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
