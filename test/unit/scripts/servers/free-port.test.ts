import { expect, test } from 'vitest'
import { freePort, reservePort } from '#scripts/servers/free-port.ts'

test('a reserved port is never returned', async () => {
  const first = await freePort()
  const reserved = Array.from({ length: 20 }, (_, index) => first + 1 + index)
  for (const port of reserved) reservePort(port)
  expect(reserved).not.toContain(await freePort())
})
