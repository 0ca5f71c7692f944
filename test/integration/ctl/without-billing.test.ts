import { execFile } from 'node:child_process'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import { millrace, spawnMillrace } from './millrace.ts'

const run = promisify(execFile)

test('an unreachable billing ends with 3', async () => {
  const env = { MILLRACE_ADMIN_TOKEN: 'a-token-of-the-tests' }
  expect(await spawnMillrace(['whoami', '--url', 'http://127.0.0.1:1'], env)).toEqual({
    code: 3,
    stdout: '',
    stderr: 'http://127.0.0.1:1 does not answer: connect ECONNREFUSED 127.0.0.1:1\n',
  })
})

test('a token can be in a file; a file that is missing ends with 2 and its name', async () => {
  const env = { MILLRACE_ADMIN_TOKEN_FILE: '/nowhere/token' }
  expect(await spawnMillrace(['whoami', '--url', 'http://127.0.0.1:1'], env)).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'wrong configuration: MILLRACE_ADMIN_TOKEN_FILE is "/nowhere/token": the file cannot be read (ENOENT)\n',
  })
  const file = join(scratchFolder('token'), 'token')
  await writeFile(file, 'a-token-of-the-tests\n')
  const found = { MILLRACE_ADMIN_TOKEN_FILE: file }
  expect((await millrace(['whoami', '--url', 'http://127.0.0.1:1'], found)).code).toBe(3)
})

test('a wrong command line ends with 2 and a message', async () => {
  expect(await millrace(['whoami'])).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^No npm start runs in .*--url or MILLRACE_ADMIN_URL\.\n$/),
  })
  expect(await spawnMillrace(['accounts', 'lst'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'There is no command accounts lst. See millrace accounts --help.\n',
  })
})

test('an output that cannot be written ends with 3 and the reason', async () => {
  // /dev/full behaves like a full disk.
  const words = ['-c', 'exec "$0" "$1" --help > /dev/full', process.execPath]
  await expect(run('sh', [...words, join(REPOSITORY, 'scripts/millrace.mjs')])).rejects.toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^The output cannot be written: ENOSPC.*\n$/),
  })
})

test('help needs no billing', async () => {
  const { code, stdout, stderr } = await millrace(['credits', 'topup', '--help'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('millrace credits topup ACCOUNT CREDITS')
})

// The Node on the PATH is the user's own, which may be older than the Node of the dependencies.
test('npx adds no warning', async () => {
  const path = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'))
  const env = {
    PATH: path.join(':'),
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    npm_config_cache: scratchFolder('npm-cache'),
    npm_config_userconfig: '/dev/null',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  }
  const { stdout, stderr } = await run('npx', ['millrace', '--help'], { cwd: REPOSITORY, env })
  expect(stderr).toBe('')
  expect(stdout).toContain('millrace: the command line of operators')
})

test('a checkout without its dependencies ends with 2 and the command to install them', async () => {
  const checkout = scratchFolder('checkout')
  await cp(join(REPOSITORY, 'scripts'), join(checkout, 'scripts'), { recursive: true })
  expect(await spawnMillrace(['whoami'], {}, checkout)).toEqual({
    code: 2,
    stdout: '',
    stderr: `The dependencies of ${checkout}/ are not installed: run npm ci or npm start there.\n`,
  })
})
