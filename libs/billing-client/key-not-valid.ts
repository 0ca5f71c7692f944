/** The management key of a call is unknown, revoked or expired, or its account is closed. */
export class KeyNotValid extends Error {
  constructor(options: { cause: unknown }) {
    super('the management key is not valid', options)
    this.name = 'KeyNotValid'
  }
}
