import type { FastifyReply } from 'fastify'

/** The errors of the console itself. Billing's errors are passed on unchanged. */
const CONSOLE_ERRORS = {
  wrong_host: { status: 421, message: 'This console has another address.' },
  foreign_origin: { status: 403, message: 'The request comes from another page.' },
  not_from_the_page: { status: 415, message: 'A change needs JSON and the header x-millrace-page.' },
  invalid_token: { status: 401, message: 'Sign in first.' },
  invalid_request: { status: 400, message: 'The request could not be read.' },
  not_found: { status: 404, message: 'There is no such operation.' },
  request_too_large: { status: 413, message: 'The body is too large.' },
  too_many_attempts: { status: 429, message: 'Too many failed sign-ins; try again soon.' },
  internal_error: { status: 500, message: 'The console failed; its log has the cause.' },
  older_billing: {
    status: 501,
    message: 'Billing is of an older release than this console and does not have this; upgrade it.',
  },
  billing_unreachable: { status: 503, message: 'Billing does not answer; nothing was done.' },
  outcome_unknown: { status: 504, message: 'Billing was asked and did not answer: it may have been done.' },
} as const

export type ConsoleErrorCode = keyof typeof CONSOLE_ERRORS

export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode

  constructor(code: ConsoleErrorCode, options?: ErrorOptions) {
    super(CONSOLE_ERRORS[code].message, options)
    this.name = 'ConsoleError'
    this.code = code
  }
}

/** Sends an error in the format of billing's errors. */
export function sendError(reply: FastifyReply, code: ConsoleErrorCode): FastifyReply {
  const { status, message } = CONSOLE_ERRORS[code]
  return reply.status(status).send({ error: { message, type: 'api_error', code } })
}
