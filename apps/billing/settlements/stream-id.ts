/** The id of a Redis stream entry: the server's milliseconds, and a number within them. */
export type StreamId = { readonly ms: bigint; readonly seq: bigint }

/** Throws a SyntaxError for text that is no stream id. */
export function parseStreamId(text: string): StreamId {
  const [ms = '', seq = ''] = text.split('-')
  if (ms === '' || seq === '') throw new SyntaxError(`${text} is not a stream id`)
  return { ms: BigInt(ms), seq: BigInt(seq) }
}

/** Returns a number below 0 when `a` comes first, and 0 when the ids are the same. */
export function compareStreamIds(a: StreamId, b: StreamId): number {
  if (a.ms !== b.ms) return a.ms < b.ms ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return 0
}
