import * as fc from 'fast-check'

/** Returns the text whole, cut in two at every place, and cut into characters. */
export function everyCut(text: string): string[][] {
  const cuts = [[text], text.split('')]
  for (let at = 1; at < text.length; at++) cuts.push([text.slice(0, at), text.slice(at)])
  return cuts
}

/** Generates a sequence that is cut at random places. */
export function cutAnywhere<Item>(items: readonly Item[]): fc.Arbitrary<Item[][]> {
  return fc.array(fc.nat({ max: items.length }), { maxLength: 12 }).map((places) => {
    const sorted = [0, ...places.sort((a, b) => a - b), items.length]
    return sorted.slice(1).map((end, i) => items.slice(sorted[i], end))
  })
}
