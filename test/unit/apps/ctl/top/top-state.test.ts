import { describe, expect, it } from 'vitest'
import { press, START, toKeys, type TopState } from '#apps/ctl/top/top-state.ts'

const MODELS = ['a', 'b', 'c']
const after = (keys: string, state: TopState = START) =>
  toKeys(keys).reduce((before, key) => press(before, key, MODELS), state)

describe('press', () => {
  it('moves the selection within the rows', () => {
    expect(after('\u001B[A').row).toBe(0)
    expect(after('\u001B[B\u001B[B').row).toBe(2)
    expect(after('jjjjj').row).toBe(2)
    expect(after('jjjk').row).toBe(1)
  })

  it('begins at a row that is still there when rows have gone', () => {
    expect(press({ ...START, row: 9 }, 'k', MODELS).row).toBe(1)
    expect(press({ ...START, row: 9 }, 'j', []).row).toBe(0)
  })

  it('opens the selected model and goes back', () => {
    expect(after('j\r').model).toBe('b')
    expect(after('j\rq')).toMatchObject({ model: null, isOver: false })
    expect(after('j\r\u001B').model).toBeNull()
    expect(press(START, '\r', []).model).toBeNull()
  })

  it('takes letters into the filter, commands among them, until Enter', () => {
    expect(after('/qps')).toMatchObject({ filter: 'qps', isOver: false, isPaused: false, isTyping: true })
    expect(after('/ab\u007F\r')).toMatchObject({ filter: 'a', isTyping: false })
    expect(after('/ab\u001B')).toMatchObject({ filter: '', isTyping: false })
    expect(after(`/${'x'.repeat(100)}`).filter).toHaveLength(40)
  })

  it('sorts in turn, pauses and ends', () => {
    expect(['', 's', 'ss', 'sss', 'ssss'].map((keys) => after(keys).sort)).toEqual([
      'waiting',
      'refused',
      'output',
      'model',
      'waiting',
    ])
    expect(after('p').isPaused).toBe(true)
    expect(after('pp').isPaused).toBe(false)
    expect(after('q').isOver).toBe(true)
    expect(after('/\u0003').isOver).toBe(true)
  })
})

describe('toKeys', () => {
  it('separates arrows of both modes, an escape alone and letters', () => {
    expect(toKeys('\u001B[Aq\u001BOB\u001B')).toEqual(['\u001B[A', 'q', '\u001B[B', '\u001B'])
  })
})
