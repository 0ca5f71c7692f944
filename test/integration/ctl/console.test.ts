import { expect } from 'vitest'
import { spawnMillrace } from './millrace.ts'
import { test } from './ctl-test.ts'

test('console prints a link whose ticket opens one session, and needs the address of a console', async ({
  command,
  access,
}) => {
  const env = { ...access, MILLRACE_CONSOLE_URL: 'https://console.example/' }
  const { code, stdout } = await spawnMillrace(['console'], env)
  expect(code).toBe(0)
  const [, ticket] = /^https:\/\/console\.example\/#ticket=(\S+)\n$/u.exec(stdout) ?? []
  const claim = async () => {
    const headers = { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' }
    return (
      await fetch(`${access.MILLRACE_ADMIN_URL}/admin/v1/sessions/claim`, {
        method: 'POST',
        headers,
        body: '{}',
      })
    ).status
  }
  expect([await claim(), await claim()]).toEqual([201, 401])
  expect(await command('console')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('MILLRACE_CONSOLE_URL'),
  })
})
