import { expect, test } from 'vitest'
import { createViewStreams, type Viewer } from '#apps/console/live/stream-views.ts'

function setUp() {
  const source = { rows: [{ id: 'a', n: 1 }], histories: { waiting: [1, 2] } }
  const streams = createViewStreams({
    read: () => ({ rows: source.rows }),
    readHistories: () => ({ histories: source.histories }),
    asOf: () => 'now',
  })
  const viewer = () => {
    const state: { slow: boolean; texts: string[]; resume: () => void } = {
      slow: false,
      texts: [],
      resume: () => {},
    }
    const viewer: Viewer = {
      write(text) {
        state.texts.push(text)
        return !state.slow
      },
      onDrain(resume) {
        state.resume = resume
      },
    }
    return { state, viewer }
  }
  return { source, streams, viewer }
}

const DELTA = (tables: object) =>
  `event: delta\ndata: ${JSON.stringify({ asOf: 'now', tables, values: {} })}\n\n`

test('a viewer gets a snapshot with the histories, then only what changed', () => {
  const { source, streams, viewer } = setUp()
  const { state, viewer: one } = viewer()
  streams.add('now', one)
  expect(state.texts).toEqual([
    'event: snapshot\ndata: {"asOf":"now","view":{"rows":[{"id":"a","n":1}],"histories":{"waiting":[1,2]}}}\n\n',
  ])
  streams.tick()
  source.rows = [{ id: 'b', n: 2 }]
  source.histories = { waiting: [2, 3] }
  streams.tick()
  expect(state.texts.slice(1)).toEqual([
    DELTA({}),
    DELTA({ rows: { changed: [{ id: 'b', n: 2 }], gone: ['a'] } }),
  ])
})

test('all viewers of a view get the same text', () => {
  const { streams, viewer } = setUp()
  const [first, second] = [viewer(), viewer()]
  streams.add('now', first.viewer)
  streams.add('now', second.viewer)
  streams.tick()
  expect(first.state.texts).toEqual(second.state.texts)
})

test('one that joins between two ticks begins with the state that the next delta continues', () => {
  const { source, streams, viewer } = setUp()
  streams.add('now', viewer().viewer)
  source.rows = [{ id: 'a', n: 2 }]
  const late = viewer()
  streams.add('now', late.viewer)
  expect(late.state.texts[0]).toContain('"n":1')
  streams.tick()
  expect(late.state.texts[1]).toBe(DELTA({ rows: { changed: [{ n: 2, id: 'a' }], gone: [] } }))
})

test('a slow viewer gets nothing until its socket has drained, then a snapshot', () => {
  const { source, streams, viewer } = setUp()
  const { state, viewer: one } = viewer()
  streams.add('now', one)
  state.slow = true
  streams.tick()
  streams.tick()
  streams.tick()
  expect(state.texts).toHaveLength(2)
  state.slow = false
  source.rows = [{ id: 'a', n: 9 }]
  streams.tick()
  state.resume()
  expect(state.texts[2]).toMatch(/^event: snapshot\n.*"n":9/)
  streams.tick()
  expect(state.texts[3]).toBe(DELTA({}))
})

test('a viewer whose socket has drained before the next tick goes on with deltas', () => {
  const { streams, viewer } = setUp()
  const { state, viewer: one } = viewer()
  state.slow = true
  streams.add('now', one)
  state.resume()
  expect(state.texts).toHaveLength(1)
  streams.tick()
  expect(state.texts[1]).toBe(DELTA({}))
})

test('a viewer that left gets nothing, and a view without viewers is not read', () => {
  let reads = 0
  const streams = createViewStreams({
    read() {
      reads += 1
      return {}
    },
    readHistories: () => ({}),
    asOf: () => 'now',
  })
  const texts: string[] = []
  const remove = streams.add('now', { write: (text) => texts.push(text) > 0, onDrain: () => {} })
  expect(streams.viewers()).toBe(1)
  remove()
  expect(streams.viewers()).toBe(0)
  streams.tick()
  expect([reads, texts.length]).toEqual([1, 1])
})
