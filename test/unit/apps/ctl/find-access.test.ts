import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandError } from '#apps/ctl/command-error.ts'
import { findAccess } from '#apps/ctl/find-access.ts'

let home = ''

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'millrace-ctl-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const URL_GIVEN = 'http://billing.example:8090'

function runsLocally() {
  const processes = [
    { name: 'redis', addresses: { redis: '127.0.0.1:1' } },
    { name: 'billing', addresses: { admin: 'http://127.0.0.1:2', ops: 'http://127.0.0.1:3' } },
  ]
  writeFileSync(join(home, 'cluster.json'), JSON.stringify({ address: 'http://127.0.0.1:4', processes }))
  writeFileSync(join(home, 'secrets.json'), JSON.stringify({ adminToken: 'local-token', other: 'x' }))
}

test('a running npm start is asked with its own token', () => {
  runsLocally()
  expect(findAccess({}, { MILLRACE_HOME: home })).toEqual({ url: 'http://127.0.0.1:2', token: 'local-token' })
})

test('the token of the local cluster is sent nowhere else', () => {
  runsLocally()
  expect(() => findAccess({ url: URL_GIVEN }, { MILLRACE_HOME: home })).toThrow('No token for')
  expect(() => findAccess({}, { MILLRACE_HOME: home, MILLRACE_ADMIN_URL: URL_GIVEN })).toThrow('No token for')
})

test('options come before the environment, and the environment before the local cluster', () => {
  runsLocally()
  const tokenFile = join(home, 'token')
  writeFileSync(tokenFile, 'file-token\n')
  const config = {
    MILLRACE_HOME: home,
    MILLRACE_ADMIN_URL: 'http://environment:1',
    MILLRACE_ADMIN_TOKEN: 'environment-token',
  }
  expect(findAccess({ url: URL_GIVEN, tokenFile }, config)).toEqual({ url: URL_GIVEN, token: 'file-token' })
  expect(findAccess({}, config)).toEqual({ url: 'http://environment:1', token: 'environment-token' })
  expect(findAccess({}, { MILLRACE_HOME: home, MILLRACE_ADMIN_TOKEN: 'helpdesk' })).toEqual({
    url: 'http://127.0.0.1:2',
    token: 'helpdesk',
  })
})

test('a missing or wrong value is reported without the token', () => {
  const refusal = (options: { url?: string; tokenFile?: string }, config: Record<string, string> = {}) => {
    try {
      return findAccess(options, { MILLRACE_HOME: home, ...config })
    } catch (error) {
      return error instanceof CommandError && error.kind === 'usage' ? error.message : error
    }
  }
  expect(refusal({})).toContain(`No npm start runs in ${home}`)
  expect(refusal({ url: 'localhost:8090' })).toContain('The URL of billing is wrong')
  expect(refusal({ url: 'http://user:secret@x' })).toBe(
    'The URL of billing is wrong: expected a URL such as http://127.0.0.1:8090.',
  )
  expect(refusal({ url: URL_GIVEN, tokenFile: join(home, 'nowhere') })).toContain('nowhere cannot be read')
  const twoLines = refusal({ url: URL_GIVEN }, { MILLRACE_ADMIN_TOKEN: 'my-token\nmy-other' })
  expect(twoLines).toBe('The token is wrong: expected one line of printable characters.')
})
