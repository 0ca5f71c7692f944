import { describe, expect, it } from 'vitest'
import { explore, NO_GOOD_END, type Machine } from './explore.ts'

/** A machine that counts up by one or two, from 0 to 9. A fault leads to 20, from which no step leads on. */
function counter(change: Partial<Machine<number>> = {}): Machine<number> {
  const move = (by: number, at: number) => ({ label: `plus ${by}`, isFault: false, next: at + by })
  return {
    initial: 0,
    steps: (at) => (at > 9 ? [] : [1, 2].map((by) => move(by, at)).filter(({ next }) => next <= 9)),
    words: 1,
    pack: (state, words) => (words[0] = state),
    violation: () => null,
    isGoodEnd: (state) => state === 9,
    ...change,
  }
}

describe('a search', () => {
  it('visits every state once', () => {
    expect(explore(counter())).toEqual({ status: 'holds', states: 10, goodEnds: 1 })
  })

  it('finds a shortest trace to a violation', () => {
    const found = explore(counter({ violation: (state) => (state === 5 ? 'five' : null) }))
    expect(found).toMatchObject({ status: 'violated', violation: 'five', state: 5 })
    expect(found).toMatchObject({ trace: expect.toSatisfy(({ length }) => length === 3) })
  })

  it('finds a state from which no good end can be reached', () => {
    const found = explore(counter({ isGoodEnd: (state) => state === 7 }))
    expect(found).toEqual({
      status: 'violated',
      violation: NO_GOOD_END,
      states: 10,
      state: 8,
      trace: ['plus 2', 'plus 2', 'plus 2', 'plus 2'],
    })
  })

  it('does not count on faults for a good end', () => {
    const { steps } = counter()
    const found = explore(
      counter({ steps: (at) => steps(at).map((move) => ({ ...move, isFault: move.next === 9 })) }),
    )
    expect(found).toMatchObject({ status: 'violated', violation: NO_GOOD_END, trace: [], state: 0 })
  })

  it('gives up at too many states', () => {
    const endless = counter({ steps: (at) => [{ label: 'up', isFault: false, next: at + 1 }] })
    expect(explore(endless, 1_000)).toMatchObject({ status: 'too-many-states' })
  })

  it('keeps many states apart', () => {
    const most = 100_000
    const wide = counter({
      steps: (at) =>
        [at * 2 + 1, at * 2 + 2]
          .filter((next) => next < most)
          .map((next) => ({ label: '', isFault: false, next })),
      isGoodEnd: (state) => state * 2 + 1 >= most,
    })
    expect(explore(wide)).toMatchObject({ status: 'holds', states: most })
  })
})
