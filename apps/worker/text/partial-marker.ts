/**
 * How many characters at the end of `text` may be the beginning of `marker`. Right for markers whose only `<`
 * is their first character, as all of ours are: then only the last `<` of the text can begin one.
 */
export function partialMarker(text: string, marker: string): number {
  const start = text.lastIndexOf('<')
  if (start === -1) return 0
  const length = text.length - start
  return length < marker.length && marker.startsWith(text.slice(start)) ? length : 0
}
