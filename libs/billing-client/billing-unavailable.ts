/**
 * Billing could not be asked, or did not answer in time. What was asked may still have happened: repeat it with
 * the same reservation id, or refuse the caller.
 */
export class BillingUnavailable extends Error {
  constructor(reason: string, options: { cause?: unknown } = {}) {
    super(`billing is unavailable: ${reason}`, options)
    this.name = 'BillingUnavailable'
  }
}
