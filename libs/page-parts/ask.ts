import { Failure } from './failure.ts'

/** Servers answer within seconds. */
const LIMIT_MS = 60_000

export type Asking = {
  /** JSON. */
  readonly body?: string
  /** Headers besides the ones that every request has. */
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the request, which then throws no Failure but the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** A 401 of this request is no end of what the viewer has signed in to. */
  readonly isQuiet?: boolean
}

/** Returns the parsed answer of the server. Throws a Failure. The caller names the type: JSON has none of its own. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Ask = (method: string, target: string, asking?: Asking) => Promise<any>

/** Asks the server of the page. An answer that is lost is a failed read, and a change of unknown outcome. */
export function createAsk(deps: {
  /** As sentences name it, such as `console`. */
  readonly server: string
  /** Sent with every request. */
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

/** The error object of an answer; `otherwise` for an answer of something else than the server, such as a proxy. */
function toDetails(
  text: string,
  otherwise: string,
  { isLost }: { isLost: boolean },
): { code: string; message: string; param?: string } {
  try {
    const { error } = JSON.parse(text)
    if (typeof error.message === 'string') return error
  } catch {
    // Not JSON.
  }
  return { code: isLost ? 'outcome_unknown' : 'unknown', message: otherwise }
}

function toSeconds(text: string | null): number | undefined {
  return text !== null && /^\d{1,4}$/.test(text) ? Number(text) : undefined
}
