/**
 * Returns the first `dimensions` numbers of a Matryoshka embedding, scaled to unit length, as such models are trained
 * for. A vector that is short enough is returned unchanged; a zero vector stays zero.
 */
export function shortenVector(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions >= vector.length) return vector
  const short = vector.subarray(0, dimensions)
  const length = Math.sqrt(short.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? short : short.map((value) => value / length)
}
