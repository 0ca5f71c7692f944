import { expect, it } from 'vitest'
import { findMarker, markerAt, toMarkers } from '#libs/dialect/syntax/markers.ts'

const tags = toMarkers(['<call>', '</call>', '[ARGS]'])

it.for([
  ['plain', -1, null],
  ['a <b> [c', -1, null],
  ['a <call>', 2, '<call>'],
  ['a < </call>', 4, '</call>'],
  ['<[ARGS]<call>', 1, '[ARGS]'],
  ['a <ca', 2, null],
  ['<<', 1, null],
  ['x[AR', 1, null],
] as const)('%j: the first marker, or the beginning of one at the end', ([text, at, marker]) => {
  expect(findMarker(text, tags)).toBe(at)
  expect(at === -1 ? null : markerAt(text, at, tags)).toBe(marker)
})

it('searches from a place on', () => {
  expect(findMarker('<call> <call>', tags, 1)).toBe(7)
  expect(findMarker('<call>', toMarkers([]))).toBe(-1)
})
