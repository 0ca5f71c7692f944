import { once } from 'node:events'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isRefused, openRestartRequest } from '#apps/worker/engine-watch/restart-request.ts'
import { formatHostPort, readHostPort } from '#libs/config/host-port.ts'
import { freePort } from '#test/support/free-port.ts'

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'restart-'))
  onTestFinished(async () => await rm(folder, { recursive: true }))
  return folder
}

test('a request is a file, and what an earlier process left is removed', async () => {
  const path = join(await makeFolder(), 'restart-engine')
  await writeFile(path, 'silent\n')
  await writeFile(`${path}.new`, 'sil')
  const request = await openRestartRequest(path)
  expect(await readdir(dirname(path))).toEqual([])
  await request.create('dead')
  expect(await readdir(dirname(path))).toEqual(['restart-engine'])
  expect(await readFile(path, 'utf8')).toBe('dead\n')
  await request.remove()
  await request.remove()
  await expect(access(path)).rejects.toThrow('ENOENT')
})

test('a folder that is missing is an error of the configuration', async () => {
  const path = join(await makeFolder(), 'missing', 'restart-engine')
  await expect(openRestartRequest(path)).rejects.toThrow(/ENGINE_RESTART_FILE: the folder .*missing cannot/)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['localhost', '127.0.0.1'],
  ['::1', '::1'],
])('%s refuses connections exactly while nothing listens there', async (host, listens) => {
  const address = formatHostPort({ host, port: await freePort() })
  expect(await isRefused(address)).toBe(true)
  const server = createServer().listen(readHostPort(address).port, listens)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  expect(await isRefused(address)).toBe(false)
})

test('a name that is unknown does not refuse a connection', async () => {
  expect(await isRefused('no-such-host.invalid:1')).toBe(false)
})
