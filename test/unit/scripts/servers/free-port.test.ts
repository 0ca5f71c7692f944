import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { claimPort, freePort, lastPortBelow, reservePort } from '#scripts/servers/free-port.ts'

const MODULE = new URL('../../../../scripts/servers/free-port.ts', import.meta.url).href

test('a reserved port is never returned', async () => {
  const first = await freePort()
  const reserved = Array.from({ length: 20 }, (_, index) => first + 1 + index)
  for (const port of reserved) reservePort(port)
  expect(reserved).not.toContain(await freePort())
})

test('a port that another process was given is not returned before that process has ended', async () => {
  const first = await freePort()
  const claimed = Array.from({ length: 20 }, (_, index) => first + 1 + index)
  const script = `
    const { claimPort } = await import(${JSON.stringify(MODULE)})
    for (const port of ${JSON.stringify(claimed)}) await claimPort(port)
    console.log('claimed')
    setInterval(() => {}, 1_000)`
  const other = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(other.stdout, 'data')
  expect(claimed).not.toContain(await freePort())
  other.kill('SIGKILL')
  await once(other, 'exit')
  expect(await Promise.all(claimed.map(claimPort))).toContain(true)
})

test.each([
  ['32768\t60999\n', 32_767],
  ['49152\t65535\n', 32_767],
  ['16000\t65535\n', 15_999],
  ['1024\t65535\n', 32_767],
  ['', 32_767],
])('ports lie below those of outgoing connections, if enough do: %j', (range, last) => {
  expect(lastPortBelow(range)).toBe(last)
})
