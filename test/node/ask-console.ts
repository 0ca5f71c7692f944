import { request } from 'node:http'
import { text } from 'node:stream/consumers'

const LIMIT_MS = 60_000

/** Sends a GET whose `Host` differs from the address, like a request behind a proxy. `fetch` cannot do this. */
export async function askConsole(
  url: string,
  headers: Readonly<Record<string, string>> & { readonly host: string },
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const asked = request(url, { headers, agent: false, signal: AbortSignal.timeout(LIMIT_MS) }, (answer) => {
    text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject)
  })
  asked.once('error', reject)
  asked.end()
  return await promise
}
