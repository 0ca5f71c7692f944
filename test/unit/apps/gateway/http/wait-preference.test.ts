import { expect, test } from 'vitest'
import { readWaitPreference } from '#apps/gateway/http/wait-preference.ts'

const LONGEST_S = 300
const prefer = (header: string) => readWaitPreference({ prefer: header }, LONGEST_S)
const waitFor = (header: string) => readWaitPreference({ 'x-wait-for-model': header }, LONGEST_S)

test('a wait is read from any place of the list, in any case, quoted or not, with parameters', () => {
  for (const header of [
    'wait=20',
    'Wait=20',
    ' wait = 20 ',
    'wait="20"',
    'wait=20; strict',
    'wait=20;a=b;c="d, e"',
    'respond-async, wait=20',
    'return=minimal; foo="some, parameter", wait=20',
    'foo="a \\" , wait=9", wait=20',
    'handling=lenient,,wait=20,depth-noroot',
    'waiting=9, wait=20',
  ]) {
    expect([header, prefer(header)]).toEqual([header, 20])
  }
})

test('the first wait counts, also if it cannot be read', () => {
  expect(prefer('wait=20, wait=30')).toBe(20)
  expect(prefer('wait=soon, wait=30')).toBeNull()
})

test('a wait that is not a whole number above 0 is ignored', () => {
  for (const header of [
    '',
    'wait',
    'wait=',
    'wait=0',
    'wait=-5',
    'wait=1.5',
    'wait=1e3',
    'wait=5s',
    'wait=0x10',
    'wait="5',
    "wait='5'",
    'wait=5 6',
    'respond-async',
    'foo="wait=20"',
    'x-wait=20',
  ]) {
    expect([header, prefer(header)]).toEqual([header, null])
  }
})

test('a longer wait becomes the longest; with 0 as the longest nothing waits', () => {
  expect(prefer('wait=301')).toBe(300)
  expect(prefer(`wait=${'9'.repeat(400)}`)).toBe(300)
  expect(readWaitPreference({ prefer: 'wait=20' }, 0)).toBeNull()
  expect(readWaitPreference({ 'x-wait-for-model': '1' }, 0)).toBeNull()
})

test('x-wait-for-model asks for the longest wait, unless prefer names one', () => {
  for (const value of ['1', 'true', 'True']) {
    expect([value, waitFor(value)]).toEqual([value, 300])
  }
  for (const value of ['0', 'false', '', '2', 'yes', '1, 1']) {
    expect([value, waitFor(value)]).toEqual([value, null])
  }
  expect(readWaitPreference({ prefer: 'wait=7', 'x-wait-for-model': '1' }, LONGEST_S)).toBe(7)
  expect(readWaitPreference({ prefer: 'wait=0', 'x-wait-for-model': '1' }, LONGEST_S)).toBeNull()
  expect(readWaitPreference({ prefer: 'respond-async', 'x-wait-for-model': '1' }, LONGEST_S)).toBe(300)
  expect(readWaitPreference({}, LONGEST_S)).toBeNull()
})
