/**
 * Billing could not be asked, or did not answer in time. What was asked may still have happened, unless `nothingDone`:
 * repeat it with the same reservation id, or refuse the caller.
 */
export class BillingUnavailable extends Error {
  /** It was too busy and said so. Undoing what never happened would only keep it busy. */
  readonly nothingDone: boolean

  constructor(reason: string, options: { cause?: unknown; nothingDone?: boolean } = {}) {
    super(`billing is unavailable: ${reason}`, { cause: options.cause })
    this.name = 'BillingUnavailable'
    this.nothingDone = options.nothingDone ?? false
  }
}
