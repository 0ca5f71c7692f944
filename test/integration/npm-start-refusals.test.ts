import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp, readdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { freePort } from '../support/free-port.ts'
import { scratchFolder } from '../support/run-folder.ts'

// Each refusal is one clear sentence, a non-zero exit code, and no stack.

type Refusal = { code: number; message: string }

test('an unknown option is named and exits with 2', async () => {
  expect(await refusal({ args: ['--prot', '9'] })).toEqual({
    code: 2,
    message: "Unknown option '--prot'. See npm start -- --help",
  })
})

test('a port out of range, files without an engine and a strange log level exit with 2', async () => {
  expect((await refusal({ args: ['--port', '99999'] })).code).toBe(2)
  expect((await refusal({ args: ['--files', 'demo'] })).code).toBe(2)
  expect((await refusal({ env: { LOG_LEVEL: 'loud' } })).code).toBe(2)
})

test('a state folder that contains other files is left alone', async () => {
  const home = scratchFolder('foreign')
  writeFileSync(join(home, 'photo.jpg'), '')
  const { code, message } = await refusal({ env: { MILLRACE_HOME: home } })
  expect(code).toBe(1)
  expect(message).toContain('contains other files (photo.jpg)')
  expect(await readdir(home)).toEqual(['photo.jpg'])
})

test('a file in place of the state folder, and a folder that cannot be made, are refused', async () => {
  const file = join(scratchFolder('file'), 'state')
  writeFileSync(file, '')
  expect((await refusal({ env: { MILLRACE_HOME: file } })).message).toContain('is not a folder')
  expect((await refusal({ env: { MILLRACE_HOME: '/proc/state' } })).message).toContain('cannot be made')
})

test('a port in use is named', async () => {
  const port = await freePort()
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { code, message } = await refusal({
    env: { PORT: String(port), MILLRACE_HOME: join(scratchFolder('home'), 's') },
  })
  expect(code).toBe(1)
  expect(message).toContain(`Port ${port} on 127.0.0.1 is in use`)
})

test('nothing is installed through a link to the node_modules of another checkout', async () => {
  const folder = scratchFolder('linked')
  const checkout = join(folder, 'checkout')
  const others = join(folder, 'others')
  mkdirSync(join(others, 'kept'), { recursive: true })
  mkdirSync(checkout)
  for (const name of ['package.json', 'package-lock.json', 'scripts', 'models']) {
    await cp(join(REPOSITORY, name), join(checkout, name), { recursive: true })
  }
  symlinkSync(others, join(checkout, 'node_modules'))
  const { code, message } = await refusal({ checkout })
  expect(code).toBe(1)
  expect(message).toContain('node_modules is a link to')
  expect(existsSync(join(others, 'kept'))).toBe(true)
})

async function refusal(options: {
  args?: string[]
  env?: Record<string, string>
  checkout?: string
}): Promise<Refusal> {
  const { promise, resolve } = Promise.withResolvers<Refusal>()
  const script = join(options.checkout ?? REPOSITORY, 'scripts/start.mjs')
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, NODE_COMPILE_CACHE: COMPILE_CACHE, ...options.env }
  const child = execFile(
    process.execPath,
    [script, ...(options.args ?? [])],
    { env },
    (_error, _stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, message: stderr.trim() })
    },
  )
  const answer = await promise
  expect(answer.message).not.toMatch(/^\s+at /m)
  return answer
}
