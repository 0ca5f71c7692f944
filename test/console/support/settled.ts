import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { SharedCluster } from '#test/support/shared-cluster.ts'

/** Asks the demo model for this many tokens. Resolves with the id of the request when its answer has ended. */
export async function askDemo(
  { baseUrl }: Pick<SharedCluster, 'baseUrl'>,
  { apiKey, tokens }: { apiKey: string; tokens: number },
): Promise<string> {
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'demo-chat',
      messages: [{ role: 'user', content: `Hello [[tokens=${tokens}]]` }],
    }),
  })
  if (!response.ok) throw new Error(`the gateway answered ${response.status}`)
  await response.arrayBuffer()
  return response.headers.get('x-request-id') ?? ''
}

/** Resolves when billing has settled the requests. */
export async function waitUntilSettled(
  { admin }: Pick<SharedCluster, 'admin'>,
  ids: readonly string[],
): Promise<void> {
  for (const request of ids) {
    for (let tries = 0; ; tries += 1) {
      const found = await admin.call(ADMIN.readRequest, { request })
      if (found.settlement !== null) break
      if (tries > 200) throw new Error(`${request} is not settled`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
