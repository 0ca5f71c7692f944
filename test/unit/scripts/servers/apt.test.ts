import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { installWithApt } from '#scripts/servers/apt.ts'

/** Creates a program that replaces apt-get. It notes its calls; `script` decides how each call ends. */
function createApt(script: string) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-apt-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [apt, calls] = [join(folder, 'apt-get'), join(folder, 'calls')]
  writeFileSync(apt, `#!/bin/sh\ncd ${folder}\necho "$@" >> calls\n${script}\n`)
  chmodSync(apt, 0o755)
  return { apt, calls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []) }
}

const INSTALL = 'install -y -q --no-install-recommends -o DPkg::Lock::Timeout=60'
const LOCKED = 'echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7" >&2; exit 100'

test('an installation waits for the lock of dpkg, which another package manager holds', async () => {
  const { apt, calls } = createApt('')
  await installWithApt(apt, [['redis-tools']])
  expect(calls()).toEqual(['update -q', `${INSTALL} redis-tools`])
})

test('the lists are updated again while another package manager holds their lock', async () => {
  const { apt, calls } = createApt(
    `[ "$1" = update ] && [ $(wc -l < calls) -lt 3 ] && { ${LOCKED}; }; exit 0`,
  )
  await installWithApt(apt, [['redis-tools']], { pauseMs: 1 })
  expect(calls()).toEqual(['update -q', 'update -q', 'update -q', `${INSTALL} redis-tools`])
})

test('without new lists the old ones are used', async () => {
  const offline = createApt('[ "$1" = update ] && exit 100; exit 0')
  await installWithApt(offline.apt, [['a']])
  expect(offline.calls()).toEqual(['update -q', `${INSTALL} a`])
})

test('the next choice is installed where one is not available, and the failure is that of the last', async () => {
  const { apt, calls } = createApt('case "$*" in *whole*) exit 0 ;; *shell*) exit 100 ;; esac')
  await installWithApt(apt, [['shell'], ['whole', 'fonts']])
  expect(calls()).toEqual(['update -q', `${INSTALL} shell`, `${INSTALL} whole fonts`])
  const none = createApt('[ "$1" = install ] && { echo "E: no $9" >&2; exit 100; }; exit 0')
  await expect(installWithApt(none.apt, [['a'], ['b']])).rejects.toThrow('E: no')
})

test('an abort ends the waiting', async () => {
  const { apt, calls } = createApt(`[ "$1" = update ] && { ${LOCKED}; }; exit 0`)
  const stop = new AbortController()
  const installed = installWithApt(apt, [['a']], { signal: stop.signal, pauseMs: 3_600_000 })
  await expect.poll(calls).toEqual(['update -q'])
  stop.abort()
  await expect(installed).rejects.toThrow('aborted')
  expect(calls()).toEqual(['update -q'])
})
