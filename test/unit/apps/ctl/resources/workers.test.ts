import { expect, test } from 'vitest'
import { chooseWorker } from '#apps/ctl/resources/workers.ts'

const WORKERS = [
  { id: 'a1', name: 'node-1' },
  { id: 'b2', name: 'node-2' },
  { id: 'c3', name: 'node-2' },
]

test('a worker is named by its name, or by its id', () => {
  expect(chooseWorker(WORKERS, 'node-1')).toEqual({ id: 'a1', name: 'node-1' })
  expect(chooseWorker(WORKERS, 'c3')).toEqual({ id: 'c3', name: 'node-2' })
})

test('an unknown name is refused, and so is one of several workers, with their ids', () => {
  expect(() => chooseWorker(WORKERS, 'node')).toThrow('No worker called node is on the bus')
  expect(() => chooseWorker(WORKERS, 'node-2')).toThrow(
    'Several workers are called node-2: give the id of one of them: b2, c3.',
  )
})
