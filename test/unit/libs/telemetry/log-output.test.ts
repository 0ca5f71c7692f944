import { spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { freePort } from '#test/support/free-port.ts'

/** A process that logs a line at each request, until its input ends. */
const APP = `
import { Registry } from '@prometheus-io/client'
import { createLogger } from '#libs/telemetry/logger.ts'
import { serveOps } from '#libs/telemetry/serve-ops.ts'
const log = createLogger('app', 'info')
const port = Number(process.argv[1])
const routes = new Map([['/log', (_, response) => { log.info('a line'); response.end() }]])
await serveOps({ app: 'app', host: '127.0.0.1', port, registry: new Registry(), readiness: () => ({ ready: true }), routes })
process.stdin.resume().on('end', () => process.exit(0))
process.send('serves')
`

async function withApp(
  stdout: 'pipe' | number,
  use: (app: { get: (path: string) => Promise<string>; closeOutput: () => void }) => Promise<void>,
): Promise<string> {
  const port = await freePort()
  const stdio: StdioOptions = ['pipe', stdout, 'pipe', 'ipc']
  const child = spawn(process.execPath, ['--input-type=module', '-e', APP, String(port)], { stdio })
  const { stdin, stdout: output, stderr } = child
  if (stdin === null || stderr === null) throw new Error('the process has no streams')
  const printed = text(stderr)
  const ended = once(child, 'exit')
  await once(child, 'message')
  await use({
    get: async (path) => await (await fetch(`http://127.0.0.1:${port}${path}`)).text(),
    closeOutput: () => output?.destroy(),
  })
  stdin.end()
  expect(await ended).toEqual([0, null])
  return await printed
}

test('a process whose log has no reader goes on; /readyz and one line on standard error say so', async () => {
  const printed = await withApp('pipe', async ({ get, closeOutput }) => {
    await get('/log')
    expect(await get('/readyz')).toBe('ready\n')
    closeOutput()
    await expect.poll(async () => (await get('/log'), await get('/readyz'))).not.toBe('ready\n')
    for (let n = 0; n < 5; n += 1) await get('/log')
    expect(await get('/readyz')).toBe('ready, but the log cannot be written: EPIPE\n')
  })
  expect(printed.trim()).toBe('app: the log cannot be written: EPIPE; the process goes on without it')
})

test('a process whose log is on a full disk goes on as well', async () => {
  const full = openSync('/dev/full', 'w')
  const printed = await withApp(full, async ({ get }) => {
    for (let n = 0; n < 5; n += 1) await get('/log')
    expect(await get('/readyz')).toBe('ready, but the log cannot be written: ENOSPC\n')
  })
  closeSync(full)
  expect(printed.trim()).toBe('app: the log cannot be written: ENOSPC; the process goes on without it')
})
