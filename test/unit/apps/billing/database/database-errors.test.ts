import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import {
  isConflict,
  isDatabaseUnavailable,
  isReadOnly,
  isRejectedValue,
} from '#apps/billing/database/database-errors.ts'

function databaseError(code: string): DatabaseError {
  // The text is never looked at: it is in the language of the server.
  const error = new DatabaseError('Fehler', 6, 'error')
  error.code = code
  return error
}

test.each([
  ['08006', 'a broken connection'],
  ['25006', 'a session that may not write'],
  ['25P03', 'a transaction that was idle for too long'],
  ['25P04', 'a transaction that took too long'],
  ['28P01', 'a login that is refused'],
  ['3D000', 'a database that is missing'],
  ['40001', 'a conflict that was repeated too often'],
  ['40P01', 'a deadlock'],
  ['53100', 'a full disk'],
  ['53300', 'too many connections'],
  ['55006', 'an object in use'],
  ['55P03', 'a lock that is not free'],
  ['57014', 'the time limit of a statement'],
  ['57P01', 'a shutdown'],
  ['57P03', 'a server that is starting'],
  ['58030', 'a failed read of the server'],
])('%s, %s, may be over later', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(true)
})

test.each([
  ['22003', 'a number that is too large'],
  ['23505', 'a row that exists'],
  ['25001', 'a statement within a transaction'],
  ['42501', 'a missing right'],
  ['42P01', 'a missing table'],
  ['55000', 'an object in another state'],
  ['XX001', 'damaged data'],
])('%s, %s, stays', (code) => {
  expect(isDatabaseUnavailable(databaseError(code))).toBe(false)
})

test('the client has no code where its connection ended', () => {
  for (const message of [
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ]) {
    expect(isDatabaseUnavailable(new Error(message))).toBe(true)
  }
  expect(isDatabaseUnavailable(Object.assign(new Error('x'), { syscall: 'connect' }))).toBe(true)
  expect(isDatabaseUnavailable(new Error('x'))).toBe(false)
})

test('a refusal to write is neither a conflict nor a wrong value', () => {
  const refusal = databaseError('25006')
  expect([isReadOnly(refusal), isConflict(refusal), isRejectedValue(refusal)]).toEqual([true, false, false])
  expect(isReadOnly(databaseError('25001'))).toBe(false)
})
