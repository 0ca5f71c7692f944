import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { pino } from 'pino'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { followExtraAuthorities } from '#libs/certificates/follow-extra-authorities.ts'
import { createKubernetesClient } from '#libs/kubernetes/kubernetes-client.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createAuthority, mountSecret } from '../../support/certificates.ts'
import { freePort } from '../../support/free-port.ts'
import { createSecureRedis } from '../../support/secure-redis.ts'
import { until } from '../../support/until.ts'

const log = pino({ level: 'silent' })
const [authority, next] = [createAuthority(), createAuthority()]

const atStart = getCACertificates()
afterEach(() => setDefaultCACertificates(atStart))

test('a connection to Redis comes up when the file of extra authorities is renewed, and others stay trusted', async () => {
  const file = mountSecret({ ...authority.issue('unused'), ca: authority.ca })
  const redis = await createSecureRedis(next, 'single')
  onTestFinished(redis.stop)
  onTestFinished(followExtraAuthorities({ file: file.ca, log, everyMs: 20 }))

  const client = openRedis({ place: redis.place, name: 'test', patience: 'patient', log })
  onTestFinished(() => client.disconnect())
  const [error] = await once(client, 'error')
  expect(String(error)).toContain('certificate')

  file.replace({ ...next.issue('unused'), ca: next.ca })
  await until(async () => await Promise.resolve(client.status === 'ready'))
  const trusted = getCACertificates()
  expect(trusted).toHaveLength(getCACertificates('bundled').length + 1)
  expect(trusted).toContain(readFileSync(next.ca, 'utf8'))
})

test('a file without a certificate changes no trust', async () => {
  const good = authority.issue('unused')
  const file = mountSecret({ ...good, ca: good.key })
  const [lines, before]: [string[], string[]] = [[], getCACertificates()]
  const recorded = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
  onTestFinished(followExtraAuthorities({ file: file.ca, log: recorded, everyMs: 20 }))
  await until(async () => await Promise.resolve(lines.length > 0))
  expect(lines.join('')).toContain('no certificate found')
  expect(getCACertificates()).toEqual(before)
})

test('the client of the API server trusts a renewed authority from its next connection on', async () => {
  const { cert, key } = next.issue('localhost')
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, response) => {
    response.end('{"kind":"PodList"}')
  })
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const ca = readFileSync(authority.ca, 'utf8')
  const client = createKubernetesClient({ url: `https://localhost:${port}`, ca, tokenFile: undefined })
  onTestFinished(() => {
    client.close()
    server.close()
  })
  await expect(client.get('/api/v1/pods')).rejects.toThrow('certificate')
  client.trust([readFileSync(next.ca, 'utf8')])
  expect(await client.get('/api/v1/pods')).toEqual({ kind: 'PodList' })
})
