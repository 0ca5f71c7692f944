import type { Operation } from './operation.ts'
import { fillPath } from './path.ts'

export type HttpRequest = {
  readonly method: Operation['method']
  /** Path and query, from the root of the contract on. */
  readonly target: string
  /** JSON; undefined for an operation without a body. */
  readonly body: string | undefined
}

/**
 * Returns the HTTP request of an operation. Fields of `input` that are undefined are not sent. The server validates all
 * other fields, so an input that a person typed may be passed on unchanged.
 */
export function toRequest(
  { method, path, params, query, kind }: Operation,
  input: Readonly<Record<string, unknown>>,
): HttpRequest {
  const filled = fillPath(path, (name) => toText(input[name]))
  const search = new URLSearchParams()
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || name in params.shape) continue
    if (kind !== 'change' || name in query.shape) search.set(name, toText(value))
    else body[name] = value
  }
  return {
    method,
    target: `${filled}${search.size === 0 ? '' : `?${search.toString()}`}`,
    body: kind === 'change' ? JSON.stringify(body) : undefined,
  }
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
