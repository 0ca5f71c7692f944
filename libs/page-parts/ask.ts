import { Failure } from './failure.ts'

/** The time limit of a request. Servers answer within seconds. */
const LIMIT_MS = 60_000

export type Asking = {
  /** The body as JSON text. */
  readonly body?: string
  /** Headers in addition to the headers of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Aborts the request, which then throws the signal's reason instead of a Failure. */
  readonly signal?: AbortSignal | undefined
  /** True if a 401 does not mean that the session has ended. */
  readonly isQuiet?: boolean
}

/** Returns the server's parsed answer, or throws a Failure. The caller chooses the type, because JSON has none. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Ask = (method: string, target: string, asking?: Asking) => Promise<any>

/**
 * Creates the function that sends requests to the page's server. If no answer comes, the code of the Failure depends on
 * the method: `unreachable` for a GET, and `outcome_unknown` for any other method, because the server may have made the
 * change.
 */
export function createAsk(deps: {
  /** The server's name in sentences, such as `console`. */
  readonly server: string
  /** The headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  onSignedOut(): void
}): Ask {
  const { server, headers, onSignedOut } = deps
  return async (method, target, { body, headers: own, signal, isQuiet } = {}) => {
    const limit = AbortSignal.timeout(LIMIT_MS)
    let response: Response
    let text: string
    try {
      response = await fetch(target, {
        method,
        headers: {
          ...headers,
          ...own,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
        cache: 'no-store',
        ...(body === undefined ? {} : { body }),
      })
      text = await response.text()
    } catch (error) {
      if (signal?.aborted === true) throw error
      throw method === 'GET'
        ? new Failure(0, { code: 'unreachable', message: `The ${server} does not answer.` })
        : new Failure(0, { code: 'outcome_unknown', message: 'No answer came: it may have been done.' })
    }
    const otherwise = `Something between here and the ${server} answered ${response.status}.`
    if (response.ok)
      return parse(text, { code: method === 'GET' ? 'unknown' : 'outcome_unknown', message: otherwise })
    if (response.status === 401 && isQuiet !== true) onSignedOut()
    throw new Failure(response.status, {
      ...toDetails(text, otherwise, {
        isLost: method !== 'GET' && (response.status === 502 || response.status === 504),
      }),
      retryAfterS: toSeconds(response.headers.get('retry-after')),
    })
  }
}

// oxlint-disable-next-line typescript/no-explicit-any
function parse(text: string, otherwise: { code: string; message: string }): any {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure(0, otherwise)
  }
}

/** Returns the error object of the server's answer, or `otherwise` if something else answered, such as a proxy. */
function toDetails(
  text: string,
  otherwise: string,
  { isLost }: { isLost: boolean },
): { code: string; message: string; param?: string } {
  try {
    const { error } = JSON.parse(text)
    if (typeof error.message === 'string') return error
  } catch {
    // The answer is not JSON.
  }
  return { code: isLost ? 'outcome_unknown' : 'unknown', message: otherwise }
}

function toSeconds(text: string | null): number | undefined {
  return text !== null && /^\d{1,4}$/.test(text) ? Number(text) : undefined
}
