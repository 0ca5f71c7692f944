import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readTreeCpuMs } from '#test/support/cpu/tree-cpu.ts'
import { describeCosts } from '#test/support/describe-costs.ts'

/** Uses 300 ms of processor time, however long that takes. */
const WORK = 'while (process.cpuUsage().user < 300_000);'

test('the processor time of a process has that of its children: of one that runs, and of one that has ended', async () => {
  const before = readTreeCpuMs(process.pid)
  await promisify(execFile)(process.execPath, ['-e', WORK])
  const withEnded = readTreeCpuMs(process.pid)
  expect(withEnded - before).toBeGreaterThanOrEqual(250)

  const running = spawn(process.execPath, ['-e', `${WORK} console.log('done'); process.stdin.resume()`])
  onTestFinished(() => void running.kill())
  await once(running.stdout, 'data')
  expect(readTreeCpuMs(process.pid) - withEnded).toBeGreaterThanOrEqual(250)
})

test('a process that is not there has used nothing', () => {
  expect(readTreeCpuMs(0x7fff_ffff)).toBe(0)
})

test('the summary adds the files of a project up, and gives the rest to the servers and the runner', () => {
  const file = (name: string, project: string, cpuMs: number) => ({
    name,
    project,
    tests: 2,
    wallMs: 1_000,
    cpuMs,
  })
  const files = [
    file('a.test.ts', 'unit', 1_500),
    file('b.test.ts', 'unit', 500),
    file('c.test.ts', 'e2e', 3_000),
  ]
  expect(describeCosts(files, 9_000).split('\n')).toEqual([
    '  CPU s  wall s  by project: processor seconds, and the wall seconds of its files added up',
    '    3.0     1.0  e2e (2 tests of 1 files)',
    '    2.0     2.0  unit (4 tests of 2 files)',
    '    4.0          the servers that all tests share, and the test runner',
    '  CPU s  wall s  the 3 dearest files, their processes included',
    '    3.0     1.0  c.test.ts',
    '    1.5     1.0  a.test.ts',
    '    0.5     1.0  b.test.ts',
    '',
  ])
})
