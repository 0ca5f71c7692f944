/** The fixed texts that a parser searches for. No text begins with another text of the list. */
export type Markers = {
  readonly texts: readonly string[]
  /** The distinct first characters. */
  readonly firsts: string
}

export function toMarkers(texts: readonly string[]): Markers {
  return { texts, firsts: Array.from(new Set(texts.map((text) => text.charAt(0)))).join('') }
}

/**
 * Returns the first index, from `from` on, at which a marker begins. A marker also counts if the text ends before the
 * marker is complete. Returns -1 if there is no such index. Compares text, so it does not matter whether a marker is
 * one token or several.
 */
export function findMarker(text: string, markers: Markers, from = 0): number {
  let at = nextFirst(text, markers.firsts, from)
  while (at !== -1 && !mayStandAt(text, at, markers.texts)) at = nextFirst(text, markers.firsts, at + 1)
  return at
}

/** Returns the complete marker at this index, or null. */
export function markerAt(text: string, at: number, { texts }: Markers): string | null {
  for (const marker of texts) if (text.startsWith(marker, at)) return marker
  return null
}

function nextFirst(text: string, firsts: string, from: number): number {
  if (firsts.length === 1) return text.indexOf(firsts, from)
  for (let at = from; at < text.length; at++) if (firsts.includes(text.charAt(at))) return at
  return -1
}

function mayStandAt(text: string, at: number, markers: readonly string[]): boolean {
  const left = text.length - at
  for (const marker of markers) {
    if (left >= marker.length ? text.startsWith(marker, at) : marker.startsWith(text.slice(at))) return true
  }
  return false
}
