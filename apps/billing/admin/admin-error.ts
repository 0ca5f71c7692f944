/** The errors of the operators' interface, in the public interface's form. */
export const ADMIN_ERRORS = {
  invalid_request: { status: 400, type: 'invalid_request_error' },
  invalid_token: { status: 401, type: 'authentication_error' },
  not_found: { status: 404, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  internal_error: { status: 500, type: 'server_error' },
} as const

export type AdminErrorCode = keyof typeof ADMIN_ERRORS

/** A failure that the operator is told about; `message` is shown. */
export class AdminError extends Error {
  readonly code: AdminErrorCode

  constructor(code: AdminErrorCode, message: string) {
    super(message)
    this.name = 'AdminError'
    this.code = code
  }
}
