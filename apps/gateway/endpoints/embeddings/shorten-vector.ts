/**
 * The first `dimensions` numbers of a Matryoshka embedding, brought back to unit length: what such models are
 * trained for. A vector that is short enough stays as it is; zeros have no direction and stay zeros.
 */
export function shortenVector(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions >= vector.length) return vector
  const short = vector.subarray(0, dimensions)
  const length = Math.sqrt(short.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? short : short.map((value) => value / length)
}
