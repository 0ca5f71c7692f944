import { unitHash } from './sampling/unit-hash.ts'

/**
 * Returns a unit vector for a text: a hashed bag of its tokens and, with less weight, of its pairs of adjacent tokens.
 * So texts that share words have similar vectors, and the order of words makes a difference. Equal texts have equal
 * vectors.
 */
export function embedText(ids: ArrayLike<number>, dimension: number): Float32Array {
  const vector = new Float32Array(dimension)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] ?? 0
    scatter(vector, id + 1, 1)
    if (i > 0) scatter(vector, -(1 + id + (ids[i - 1] ?? 0) * 4_093), PAIR_WEIGHT)
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  // Contributions can cancel out, but a unit vector needs a direction.
  if (length === 0) vector[0] = 1
  else for (let i = 0; i < dimension; i++) vector[i] = (vector[i] ?? 0) / length
  return vector
}

const PAIR_WEIGHT = 0.35
/**
 * The number of dimensions that each feature changes. With this number, features can be distinguished at a low cost.
 */
const SPREAD = 8

function scatter(vector: Float32Array, feature: number, weight: number): void {
  for (let i = 0; i < SPREAD; i++) {
    const at = Math.floor(unitHash(feature, i) * vector.length)
    const sign = unitHash(feature, i + SPREAD) < 0.5 ? -1 : 1
    vector[at] = (vector[at] ?? 0) + sign * weight
  }
}
