import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatHostPort } from '#libs/config/host-port.ts'
import { SetupError } from '../servers/setup-error.ts'
import { CHAT_MODEL } from './demo-models.ts'

/** Returns the URL at which a client on this machine reaches a gateway that listens on `host`. */
export function gatewayUrl({ host, port }: { host: string; port: number }): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${formatHostPort({ host: reachable, port })}`
}

/** Throws a SetupError if the gateway could not listen at this address. */
export async function assertPortFree({ host, port }: { host: string; port: number }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const server = createServer()
  server.once('error', reject)
  server.listen(port, host, () => server.close(() => resolve()))
  try {
    await promise
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      throw new SetupError(
        `Port ${port} on ${host} is in use by another program: choose one with --port or PORT.`,
      )
    }
    if (code === 'EACCES')
      throw new SetupError(`Port ${port} needs root: choose one above 1023 with --port or PORT.`)
    throw new SetupError(
      `The gateway cannot listen on ${formatHostPort({ host, port })} (${String(code)}): check HOST and PORT.`,
    )
  }
}

/** Waits until one short generation passes through the whole cluster. Throws a SetupError after 60 s. */
export async function waitUntilServing(options: {
  url: string
  key: string
  signal: AbortSignal
}): Promise<void> {
  const deadline = performance.now() + 60_000
  for (;;) {
    options.signal.throwIfAborted()
    const outcome = await tryChat(options)
    if (outcome === 'ok') return
    if (performance.now() > deadline)
      throw new SetupError(`The cluster runs, but does not answer a chat: ${outcome}`)
    await sleep(100)
  }
}

async function tryChat({ url, key }: { url: string; key: string }): Promise<string> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: CHAT_MODEL, max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] }),
      signal: AbortSignal.timeout(15_000),
    })
    const text = await response.text()
    return response.ok ? 'ok' : `${response.status} ${text.slice(0, 300)}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Returns the curl line that a user tries first. */
export function curlLine({ url, key }: { url: string; key: string }): string {
  const body = { model: CHAT_MODEL, stream: true, messages: [{ role: 'user', content: 'Hello!' }] }
  return `curl -N ${url}/v1/chat/completions -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${JSON.stringify(body)}'`
}
