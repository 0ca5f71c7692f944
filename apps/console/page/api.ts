import type { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { AnswerOf, InputOf } from '#libs/admin-contract/operation.ts'
import { createAsk } from '#libs/page-parts/ask.ts'

type Operation = (typeof ADMIN)[keyof typeof ADMIN]
type Reading = Extract<Operation, { kind: 'read' }>
type Changing = Extract<Operation, { kind: 'change' }>
type ReadAt<Path> = Extract<Reading, { path: Path }>
type ChangeAt<Path> = Extract<Changing, { path: Path }>

/** The answer of the operation at `Path`. */
export type Answer<Path extends Reading['path']> = AnswerOf<ReadAt<Path>>
export type Changed<Path extends Changing['path']> = AnswerOf<ChangeAt<Path>>

/** One entry of the list at `Path`. */
export type Item<Path extends Reading['path']> =
  Answer<Path> extends { data: readonly (infer Entry)[] } ? Entry : never

type Input = Readonly<Record<string, unknown>>

/** Called after each answer that says that billing no longer accepts the session. */
let onSignedOut = (): void => {}

export function whenSignedOut(run: () => void): void {
  onSignedOut = run
}

const ask = createAsk({
  server: 'console',
  headers: { 'x-millrace-page': '1' },
  onSignedOut: () => onSignedOut(),
})

/** Sends a read to billing through the console. Throws a Failure. */
export async function read<const Path extends Reading['path']>(
  path: Path,
  input: InputOf<ReadAt<Path>>,
  signal?: AbortSignal,
): Promise<Answer<Path>> {
  const { filled, rest } = fill(path, input)
  const query = new URLSearchParams(rest.map(([name, value]) => [name, String(value)])).toString()
  return await ask('GET', `/api/admin${filled}${query === '' ? '' : `?${query}`}`, { signal })
}

/**
 * Sends a change to billing through the console. `query` is for the few operations with a query string besides the
 * body. Throws a Failure.
 */
export async function change<const Path extends Changing['path']>(
  path: Path,
  input: InputOf<ChangeAt<Path>>,
  { method = 'POST', query = '' }: { method?: 'POST' | 'PATCH'; query?: string } = {},
): Promise<Changed<Path>> {
  const { filled, rest } = fill(path, input)
  const body = JSON.stringify(Object.fromEntries(rest))
  return await ask(method, `/api/admin${filled}${query}`, { body })
}

export async function signIn(given: { token: string } | { ticket: string }): Promise<void> {
  await ask('POST', '/api/session', { body: JSON.stringify(given), isQuiet: true })
}

export async function signOut(): Promise<void> {
  await ask('DELETE', '/api/session', { body: '{}', isQuiet: true })
}

/** Reads an address of the console itself. */
export async function readJson(path: string): Promise<unknown> {
  return await ask('GET', path)
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
