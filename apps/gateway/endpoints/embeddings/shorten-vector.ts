/**
 * Returns the first `dimensions` numbers of an embedding, scaled to unit length. The model must be trained for this
 * (Matryoshka embeddings). A vector that is short enough is returned unchanged, and a zero vector stays zero.
 */
export function shortenVector(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions >= vector.length) return vector
  const short = vector.subarray(0, dimensions)
  const length = Math.sqrt(short.reduce((sum, value) => sum + value * value, 0))
  return length === 0 ? short : short.map((value) => value / length)
}
