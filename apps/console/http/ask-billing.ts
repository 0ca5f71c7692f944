import { ConsoleError } from './console-error.ts'

/**
 * A request to billing is aborted after this time, even while its answer is still arriving. The slowest request asks
 * for a reconciliation of the books since the newest seal.
 */
const LIMIT_MS = 5 * 60_000

export type BillingRequest = {
  readonly method: string
  /** The path and query, beginning at the server's root. */
  readonly target: string
  readonly token: string
  readonly body?: string | undefined
  readonly userAgent?: string | undefined
  /** Aborts the request. */
  readonly signal?: AbortSignal
}

export type AskBilling = (request: BillingRequest) => Promise<Response>

/**
 * Sends one request to billing's admin interface. Only the fields of `BillingRequest` are taken from the browser's
 * request. If billing does not answer, throws a ConsoleError that says whether billing may have received the request.
 * Also throws a ConsoleError if billing's version is too old to know the operation.
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

/**
 * Every version of billing sends this message for a path that it does not serve. The console requests only paths of its
 * own `#libs/admin-contract`, so the message means that billing is older than the console.
 */
const NO_SUCH_OPERATION = 'There is no such operation.'

async function orOlder(answer: Response): Promise<Response> {
  const text = await answer.text()
  if (text.includes(NO_SUCH_OPERATION)) throw new ConsoleError('older_billing')
  return new Response(text, { status: answer.status, headers: answer.headers })
}

/** Returns true if no connection was made, so that the request was never sent. */
function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'UND_ERR_CONNECT_TIMEOUT'
}
