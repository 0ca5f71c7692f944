const LIMIT_MS = 10_000

/** Billing's admin interface. What it answers is the caller's to parse; every refusal throws with its text. */
export type AdminClient = {
  get(path: string): Promise<unknown>
  /** Null when there is no such thing. */
  find(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
  patch(path: string, body: object): Promise<unknown>
}

/** Each call is given up after 10 s. */
export function createAdminClient({ url, token }: { url: string; token: string }): AdminClient {
  async function call(path: string, init: RequestInit = {}): Promise<Response> {
    return await fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(LIMIT_MS),
    })
  }
  const change = async (method: 'POST' | 'PATCH', path: string, body: object) =>
    await read(await call(path, { method, body: JSON.stringify(body) }), path)
  return {
    get: async (path) => await read(await call(path), path),
    async find(path) {
      const response = await call(path)
      if (response.status !== 404) return await read(response, path)
      await response.body?.cancel()
      return null
    },
    post: async (path, body) => await change('POST', path, body),
    patch: async (path, body) => await change('PATCH', path, body),
  }
}

async function read(response: Response, path: string): Promise<unknown> {
  const text = await response.text()
  if (!response.ok) throw new Error(`billing answered ${response.status} to ${path}: ${text}`)
  return JSON.parse(text)
}
