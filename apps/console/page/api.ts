import type { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { AnswerOf, InputOf } from '#libs/admin-contract/operation.ts'

type Operation = (typeof ADMIN)[keyof typeof ADMIN]
type Reading = Extract<Operation, { kind: 'read' }>
type Changing = Extract<Operation, { kind: 'change' }>
type ReadAt<Path> = Extract<Reading, { path: Path }>
type ChangeAt<Path> = Extract<Changing, { path: Path }>

/** What the operation at `Path` answers. */
export type Answer<Path extends Reading['path']> = AnswerOf<ReadAt<Path>>
export type Changed<Path extends Changing['path']> = AnswerOf<ChangeAt<Path>>

/** One entry of the list at `Path`. */
export type Item<Path extends Reading['path']> =
  Answer<Path> extends { data: readonly (infer Entry)[] } ? Entry : never

type Input = Readonly<Record<string, unknown>>

const READ_LIMIT_MS = 60_000

/** Billing answers a change within seconds. */
const CHANGE_LIMIT_MS = 60_000

/** An answer that is not the wanted one; the message is for the viewer. */
export class Failure extends Error {
  readonly status: number
  readonly code: string
  /** The field of the request that is wrong. */
  readonly param: string | undefined

  constructor(status: number, details: { code: string; message: string; param?: string | undefined }) {
    super(details.message)
    this.name = 'Failure'
    this.status = status
    this.code = details.code
    this.param = details.param
  }

  /** The change may have been made: the answer is missing, not negative. */
  get isUnknown(): boolean {
    return this.code === 'outcome_unknown'
  }
}

/** Called once, when the session has ended. */
let onSignedOut = (): void => {}

export function whenSignedOut(run: () => void): void {
  onSignedOut = run
}

/** Asks billing, through the console. Throws a Failure. */
export async function read<const Path extends Reading['path']>(
  path: Path,
  input: InputOf<ReadAt<Path>>,
  signal?: AbortSignal,
): Promise<Answer<Path>> {
  const { filled, rest } = fill(path, input)
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)])).toString()
  return await ask('GET', `/api/admin${filled}${query === '' ? '' : `?${query}`}`, {
    limitMs: READ_LIMIT_MS,
    ...(signal === undefined ? {} : { signal }),
  })
}

/** Changes something. `query` is for the few operations that have one besides their body. Throws a Failure. */
export async function change<const Path extends Changing['path']>(
  path: Path,
  input: InputOf<ChangeAt<Path>>,
  { method = 'POST', query = '' }: { method?: 'POST' | 'PATCH'; query?: string } = {},
): Promise<Changed<Path>> {
  const { filled, rest } = fill(path, input)
  const body = JSON.stringify(Object.fromEntries(rest))
  return await ask(method, `/api/admin${filled}${query}`, { limitMs: CHANGE_LIMIT_MS, body })
}

export async function signIn(given: { token: string } | { ticket: string }): Promise<void> {
  await ask('POST', '/api/session', { limitMs: CHANGE_LIMIT_MS, body: JSON.stringify(given), quiet: true })
}

export async function signOut(): Promise<void> {
  await ask('DELETE', '/api/session', { limitMs: CHANGE_LIMIT_MS, body: '{}', quiet: true })
}

/** Any other answer of the console. */
export async function readJson(path: string): Promise<unknown> {
  return await ask('GET', path, { limitMs: READ_LIMIT_MS })
}

function fill(path: string, input: Input): { filled: string; rest: [string, unknown][] } {
  const inPath = new Set<string>()
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return encodeURIComponent(String(input[name]))
  })
  const rest = Object.entries(input).filter(([name, value]) => !inPath.has(name) && value !== undefined)
  return { filled, rest }
}

type Asking = { limitMs: number; body?: string; signal?: AbortSignal; quiet?: boolean }

// The contract describes what comes back: JSON has no type of its own.
// oxlint-disable-next-line typescript/no-explicit-any
async function ask(method: string, target: string, { limitMs, body, signal, quiet }: Asking): Promise<any> {
  const limit = AbortSignal.timeout(limitMs)
  let response: Response
  let text: string
  try {
    response = await fetch(target, {
      method,
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      ...(body === undefined
        ? {}
        : { body, headers: { 'content-type': 'application/json', 'x-millrace-page': '1' } }),
    })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw method === 'GET'
      ? new Failure(0, { code: 'console_unreachable', message: 'The console does not answer.' })
      : new Failure(0, { code: 'outcome_unknown', message: 'No answer came: it may have been done.' })
  }
  if (response.ok) return text === '' ? undefined : JSON.parse(text)
  if (response.status === 401 && quiet !== true) onSignedOut()
  throw new Failure(response.status, toDetails(response.status, text))
}

function toDetails(status: number, text: string): { code: string; message: string; param?: string } {
  try {
    const { error } = JSON.parse(text)
    if (typeof error.message === 'string') return error
  } catch {
    // An answer of something else than the console, such as a proxy.
  }
  return status === 502 || status === 504
    ? { code: 'outcome_unknown', message: `Something between here and the console answered ${status}.` }
    : { code: 'unknown', message: `Something between here and the console answered ${status}.` }
}
