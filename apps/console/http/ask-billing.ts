import { ConsoleError } from './console-error.ts'

/** Longer than the slowest answer takes to begin: a comparison of all books. */
const LIMIT_MS = 5 * 60_000

export type BillingRequest = {
  readonly method: string
  /** Path and query, from the root of the server on. */
  readonly target: string
  readonly token: string
  readonly body?: string | undefined
  readonly userAgent?: string | undefined
  /** Ends the request early. */
  readonly signal?: AbortSignal
}

export type AskBilling = (request: BillingRequest) => Promise<Response>

/**
 * Sends one request to billing's admin interface, with nothing of the browser's request but what is named. Throws a
 * ConsoleError that says whether billing may have received it, or that its release is too old to know the operation.
 */
export function createAskBilling(billingUrl: string): AskBilling {
  return async ({ method, target, token, body, userAgent, signal }) => {
    const limit = AbortSignal.timeout(LIMIT_MS)
    let answer: Response
    try {
      answer = await fetch(billingUrl + target, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
        },
        redirect: 'error',
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
        ...(body === undefined ? {} : { body }),
      })
    } catch (error) {
      const notSent = method === 'GET' || isRefused(error)
      throw new ConsoleError(notSent ? 'billing_unreachable' : 'outcome_unknown', { cause: error })
    }
    return answer.status === 404 ? await orOlder(answer) : answer
  }
}

/** What every release of billing says of a path that it does not serve; the console asks only for those of the contract. */
const NO_SUCH_OPERATION = 'There is no such operation.'

async function orOlder(answer: Response): Promise<Response> {
  const text = await answer.text()
  if (text.includes(NO_SUCH_OPERATION)) throw new ConsoleError('older_billing')
  return new Response(text, { status: answer.status, headers: answer.headers })
}

/** The connection was never made, so the request was never sent. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'UND_ERR_CONNECT_TIMEOUT'
}
