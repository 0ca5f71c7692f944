import { createServer } from 'node:net'

const given = new Set<number>()

/** A loopback port that nobody listens on now and that this process was not given before. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await probe()
    if (!given.has(port)) {
      given.add(port)
      return port
    }
  }
}

async function probe(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    server.close(() => {
      if (address === null || typeof address === 'string') reject(new Error('no port in the address'))
      else resolve(address.port)
    })
  })
  return await promise
}
