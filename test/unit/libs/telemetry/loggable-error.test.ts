import { inspect } from 'node:util'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { redactCredentials, toLoggableError, toPrintedError } from '#libs/telemetry/loggable-error.ts'

const SECRET = 'hunter2secret'

/** Errors as libraries make them, with the objects that they attach and the inputs that their messages quote. */
const LEAKS: Readonly<Record<string, () => unknown>> = {
  'a reply of Redis, with its command': () =>
    Object.assign(new Error('BUSY Redis is busy running a script.'), {
      command: { name: 'publish', args: ['channel', SECRET] },
      previousErrors: [new Error(SECRET)],
    }),
  'a server that does not know the command': () =>
    new Error(`ERR unknown command 'hello', with args beginning with: '3' 'AUTH' 'default' '${SECRET}' `),
  'an error of PostgreSQL': () => {
    const error = new DatabaseError(`invalid input syntax for type uuid: "${SECRET}"`, 1, 'error')
    const fields = { severity: 'ERROR', code: '22P02', detail: SECRET, where: SECRET, internalQuery: SECRET }
    return Object.assign(error, fields, { parameters: [SECRET] })
  },
  'a URL in the message': () => new Error(`connect to postgres://user:${SECRET}@db:5432/x failed`),
  'a URL whose password has an @': () => new Error(`redis://:a@b/${SECRET}@queue:6379 is away`),
  'a bearer token': () => new Error(`refused: authorization: Bearer ${SECRET}`),
  'an API key': () => new Error(`no such key: mr_live_${SECRET}`),
  'an unreadable JSON text': () => thrown(() => JSON.parse(`"${SECRET}`.slice(1))),
  'a wrong regular expression': () => thrown(() => new RegExp(`(${SECRET}`)),
  'a wrong integer': () => thrown(() => BigInt(SECRET)),
  'an issue of zod': () =>
    thrown(() => z.strictObject({ a: z.enum(['b']) }).parse({ a: SECRET, [SECRET]: 1, [`${SECRET} x`]: 2 })),
  'a key of a record': () =>
    thrown(() => z.record(z.string(), z.int()).parse({ [`say ${SECRET}`]: 'no number' })),
  'a wrong argument of Node': () => thrown(() => Reflect.apply(Buffer.alloc, null, [SECRET])),
  'a wrong URL': () => thrown(() => new URL(SECRET)),
  'a cause': () => new Error('fetch failed', { cause: leak() }),
  'the causes of causes': () => new Error('a', { cause: new Error('b', { cause: leak() }) }),
  'one of several errors': () => new AggregateError([leak(), leak()], 'all failed', { cause: leak() }),
  'a message that quotes a request': () => Object.assign(new Error(SECRET), { quotesRequest: true }),
  'a message that was changed later': () => {
    const error = new Error(`one\n    at ${SECRET}`)
    // Node creates the stack text when it is first read.
    if (error.stack === undefined) throw new Error('there is a stack')
    error.message = 'another'
    return error
  },
  'a message of several lines': () =>
    Object.assign(new Error(`say\n    at ${SECRET}:1:1`), { quotesRequest: true }),
  'what is no error': () => ({ prompt: SECRET }),
  'a text': () => SECRET,
}

test.each(Object.entries(LEAKS))('nothing of it is logged: %s', (_, make) => {
  const error = make()
  // The test proves nothing where the error has no secret.
  expect(inspect(error, { depth: 9, showHidden: true })).toContain(SECRET)
  expect(JSON.stringify(toLoggableError(error))).not.toContain(SECRET)
  expect(toPrintedError(error)).not.toContain(SECRET)
})

test('type, message, code and where it was thrown remain', () => {
  const cause = Object.assign(new TypeError('connect ECONNREFUSED 127.0.0.1:6379'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  const logged = toLoggableError(new Error('no answer', { cause }))
  expect(logged).toMatchObject({
    type: 'Error',
    message: 'no answer',
    stack: expect.stringContaining('loggable-error.test.ts'),
    cause: { type: 'TypeError', message: cause.message, code: 'ECONNREFUSED', syscall: 'connect' },
  })
  expect(logged.stack).not.toContain('no answer')
})

test('of an error of zod the codes and the paths remain', () => {
  const error = z.object({ engines: z.array(z.object({ slots: z.int() })) }).safeParse({
    engines: [{ slots: 'many' }],
  }).error
  expect(toLoggableError(error)).toMatchObject({
    type: 'ZodError',
    message: 'invalid_type at engines.0.slots',
  })
})

test('everything is bounded: texts, frames, causes, errors', () => {
  const endless = new Error('x'.repeat(10_000))
  endless.cause = endless
  const many = new AggregateError(
    Array.from({ length: 1_000 }, () => endless),
    'y'.repeat(10_000),
  )
  expect(JSON.stringify(toLoggableError(endless)).length).toBeLessThan(25_000)
  expect(JSON.stringify(toLoggableError(many)).length).toBeLessThan(50_000)
})

test('a text without credentials stays as it is', () => {
  for (const text of ['redis connection failed', 'http://127.0.0.1:9100/metrics', 'mail@example.org', ''])
    expect(redactCredentials(text)).toBe(text)
})

const leak = () =>
  Object.assign(new Error(`redis://:${SECRET}@queue`), { command: { name: 'auth', args: [SECRET] } })

function thrown(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
