import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createTaskThread, type TaskThreadLimits } from '#libs/threads/task-thread.ts'

const ECHO = new URL('../../../fixtures/threads/echo.ts', import.meta.url)

function open(module = ECHO, limits: Partial<TaskThreadLimits> = {}) {
  const thread = createTaskThread<string>({
    name: 'test',
    module,
    limits: { waiting: 8, taskMs: 60_000, heapMib: 64, ...limits },
    log: pino({ level: 'silent' }),
  })
  onTestFinished(async () => await thread.close())
  return thread
}

it('does one task after the other, and goes on after one that throws', async () => {
  const thread = open()
  const [first, failed, last] = await Promise.allSettled(['a', 'fail', 'b'].map((task) => thread.run(task)))
  expect(first).toEqual({ status: 'fulfilled', value: 'a' })
  expect(failed).toMatchObject({
    status: 'rejected',
    reason: { cause: { message: 'test: the task failed' } },
  })
  expect(last).toEqual({ status: 'fulfilled', value: 'b' })
})

it('stops a task that takes too long, and starts again for the next one', async () => {
  const thread = open(ECHO, { taskMs: 200 })
  const [hung, next] = await Promise.allSettled([thread.run('hang'), thread.run('a')])
  expect(hung).toMatchObject({ status: 'rejected', reason: { reason: 'too-hard' } })
  expect(next).toEqual({ status: 'fulfilled', value: 'a' })
})

it('gives a task ten times as long by the clock, because a thread may wait for a processor', async () => {
  const thread = open(ECHO, { taskMs: 1_000 })
  await thread.run('a')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let isOver = false
  const sleeping = thread.run('sleep').catch((error: unknown) => {
    isOver = true
    return error
  })
  for (let second = 1; second < 10; second += 1) {
    vi.advanceTimersByTime(1_000)
    await nextTurn()
    expect(isOver).toBe(false)
  }
  vi.advanceTimersByTime(1_000)
  expect(await sleeping).toMatchObject({ reason: 'too-hard' })
})

it('counts its start to no task: the first one has as much time as any', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const first = open(ECHO, { taskMs: 1_000 }).run('a')
  vi.advanceTimersByTime(2_000)
  expect(await first).toBe('a')
})

it('reports its start, and also that it cannot start', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const thread = open()
  expect(thread.isStarted()).toBe(false)
  await thread.started
  expect(thread.isStarted()).toBe(true)
  const broken = open(new URL('nothing.ts', ECHO))
  await broken.started
  expect(broken.isStarted()).toBe(false)
})

it('is waited for no longer than a start may take', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const thread = open()
  vi.advanceTimersByTime(60_000)
  await thread.started
  expect(thread.isStarted()).toBe(false)
})

it('starts again after its end', async () => {
  const thread = open()
  await expect(thread.run('end')).rejects.toMatchObject({ reason: 'too-hard' })
  expect(await thread.run('a')).toBe('a')
})

it('says of each task that its thread did not start', async () => {
  const thread = open(new URL('nothing.ts', ECHO))
  for (const task of ['a', 'b']) {
    await expect(thread.run(task)).rejects.toMatchObject({ reason: 'not-started' })
  }
})

it('refuses tasks beyond those that may wait, and all after its end', async () => {
  const thread = open(ECHO, { waiting: 1 })
  const [first, second] = [thread.run('a'), thread.run('b')]
  await expect(thread.run('c')).rejects.toMatchObject({ reason: 'too-many' })
  expect(await Promise.all([first, second])).toEqual(['a', 'b'])
  await thread.close()
  await expect(thread.run('d')).rejects.toMatchObject({ reason: 'too-many' })
})
