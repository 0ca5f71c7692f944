import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { scratchFolder } from '../../support/run-folder.ts'

/** Runs the image's entry point with an app that has this code. The app's first line of output must be `started`. */
async function startApp(code: string) {
  const root = scratchFolder('image')
  const [script, main] = [join(root, 'deploy/run-app.sh'), join(root, 'apps/app/main.ts')]
  for (const path of [script, main]) mkdirSync(dirname(path), { recursive: true })
  copyFileSync('deploy/run-app.sh', script)
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  writeFileSync(main, `${code}\nconsole.log('started')`)
  const path = [dirname(process.execPath), process.env['PATH']].join(delimiter)
  const child = spawn('sh', [script, 'app', 'an argument', '--option'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: path },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<unknown> => (await lines.next()).value
  expect(await nextLine()).toBe('started')
  return { child, nextLine, exited: async () => (await exited)[0] }
}

test.for(['SIGTERM', 'SIGINT'] as const)(
  '%s reaches the app each time, and the entry point ends when the app does, with its exit code',
  async (signal) => {
    const { child, nextLine, exited } = await startApp(`
      let times = 0
      process.on('${signal}', () => {
        times += 1
        console.log('${signal}', times)
        if (times === 3) process.exit(7)
      })
      setInterval(() => {}, 60_000)`)
    for (const times of [1, 2, 3]) {
      child.kill(signal)
      expect(await nextLine()).toBe(`${signal} ${times}`)
    }
    expect(await exited()).toBe(7)
  },
)

test('an app without a handler is ended by SIGTERM', async () => {
  const { child, exited } = await startApp('setInterval(() => {}, 60_000)')
  child.kill('SIGTERM')
  expect(await exited()).toBe(128 + 15)
})

test('the app has the other arguments, and standard input', async () => {
  const { child, nextLine, exited } = await startApp(`
    process.stdin.once('data', (text) => {
      console.log(JSON.stringify([process.argv.slice(2), String(text)]))
      process.exit(0)
    })`)
  child.stdin.write('text')
  expect(await nextLine()).toBe(JSON.stringify([['an argument', '--option'], 'text']))
  expect(await exited()).toBe(0)
})
