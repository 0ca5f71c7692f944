import { expect, test } from 'vitest'
import { createLogger } from '#libs/telemetry/logger.ts'

const SECRET = 'hunter2secret'

/** Returns the log lines that these calls write. */
function written(act: (log: ReturnType<typeof createLogger>) => void): string {
  let text = ''
  act(createLogger('test', 'trace', { write: (line) => void (text += line) }))
  return text
}

const leak = () =>
  Object.assign(new Error(`connect redis://:${SECRET}@queue`), {
    command: { name: 'publish', args: [SECRET] },
  })

test.each([
  ['as err', (log) => log.warn({ err: leak() }, 'failed')],
  ['under another name', (log) => log.warn({ error: leak(), problem: leak() }, 'failed')],
  ['deep in the fields', (log) => log.warn({ of: [{ one: { err: leak() } }] }, 'failed')],
  ['without a message', (log) => log.error({ err: leak() })],
  ['alone', (log) => log.error(leak())],
  ['as an argument of the message', (log) => log.error('failed: %o', leak())],
  ['in the fields of a child', (log) => log.child({ err: leak() }).error('failed')],
  ['by a child', (log) => log.child({ worker: 'a' }).fatal({ err: leak() }, 'failed')],
  ['as the cause of a cause', (log) => log.error({ err: new Error('a', { cause: leak() }) })],
  ['deeper than anything', (log) => log.error({ a: { b: { c: { d: { e: { f: leak() } } } } } })],
] satisfies [string, (log: ReturnType<typeof createLogger>) => void][])(
  'an error is logged without what its library hangs on it: %s',
  (_, act) => {
    const line = written(act)
    expect(line).toContain('"app":"test"')
    expect(line).not.toContain(SECRET)
    expect(line).not.toContain('"command"')
  },
)

test('a field or a message with a URL has no password', () => {
  const url = `redis://default:${SECRET}@127.0.0.1:6379/0`
  const line = written((log) => log.info({ url, places: [new URL(url)] }, `connected to ${url}`))
  expect(line).not.toContain(SECRET)
  expect(line).toContain('redis://***@127.0.0.1:6379/0')
})

test('fields stay as they are', () => {
  const fields = { model: 'a', ms: 4, ids: [1, 2], of: { nothing: null, no: false }, at: new Date(0) }
  expect(JSON.parse(written((log) => log.info(fields, 'done')))).toMatchObject({
    level: 30,
    msg: 'done',
    ...fields,
    at: '1970-01-01T00:00:00.000Z',
  })
})
