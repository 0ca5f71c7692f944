import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { streamAddress, type ViewName } from '#libs/live-view/addresses.ts'
import { applyDelta, type Parts } from '#libs/live-view/deltas.ts'
import { CommandError } from '../command-error.ts'
import { readEvents } from '../read-events.ts'

/** A view of the live picture, and when the picture was taken. */
export type Picture<View> = { readonly asOf: string; readonly view: View }

export type ConsoleAccess = { readonly url: string; readonly token: string }

const Snapshot = z.object({ asOf: z.string(), view: z.record(z.string(), z.unknown()) })

const Delta = z.object({
  asOf: z.string(),
  tables: z.record(
    z.string(),
    z.object({ changed: z.array(z.looseObject({ id: z.string() })), gone: z.array(z.string()) }),
  ),
  values: z.record(z.string(), z.unknown()),
})

const RETRY_MS = 1_000
/** The time limit of `readOnce`; the console completes its first picture within 2.5 s. */
const ANSWER_LIMIT_MS = 10_000

/**
 * Yields a view of the console each second until `signal` aborts. After a lost connection it tries to connect each
 * second, and yields nothing meanwhile. Throws a CommandError when the console refuses the request.
 */
export async function* followLive<View>(
  access: ConsoleAccess,
  { name, schema, signal }: { name: ViewName; schema: z.ZodType<View>; signal: AbortSignal },
): AsyncGenerator<Picture<View>> {
  while (!signal.aborted) {
    try {
      let parts: Parts = {}
      const { body } = await ask(access, streamAddress(name), signal)
      for await (const { event, data } of body === null ? [] : readEvents(body)) {
        const message: unknown = JSON.parse(data)
        let asOf: string
        if (event === 'snapshot') {
          const snapshot = Snapshot.parse(message)
          asOf = snapshot.asOf
          parts = snapshot.view
        } else if (event === 'delta') {
          const delta = Delta.parse(message)
          asOf = delta.asOf
          parts = applyDelta(parts, delta)
        } else continue
        yield { asOf, view: schema.parse(parts) }
      }
    } catch (error) {
      if (error instanceof CommandError) throw error
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
  }
}

/** Returns a view of the console once. Throws a CommandError if the console refuses or does not answer. */
export async function readOnce<View>(
  access: ConsoleAccess,
  { address, schema }: { address: string; schema: z.ZodType<View> },
): Promise<Picture<View>> {
  const response = await ask(access, address, AbortSignal.timeout(ANSWER_LIMIT_MS)).catch(
    (error: unknown) => {
      if (error instanceof CommandError) throw error
      throw new CommandError('unreachable', `The console at ${access.url} does not answer.`, { cause: error })
    },
  )
  const parsed = z.object({ asOf: z.string(), view: schema }).safeParse(await response.json())
  if (!parsed.success)
    throw new CommandError('unreachable', `${access.url} is not a console of this version.`)
  return parsed.data
}

async function ask({ url, token }: ConsoleAccess, address: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(url + address, { headers: { authorization: `Bearer ${token}` }, signal })
  if (response.ok) return response
  await response.body?.cancel()
  if (response.status >= 500) throw new Error(`the console answers ${response.status}`)
  const why = response.status === 401 ? 'it does not know this token' : `it answers ${response.status}`
  throw new CommandError('refused', `The console at ${url} refuses: ${why}.`)
}
