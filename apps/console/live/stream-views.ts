import { toDelta, type Parts } from '#libs/live-view/deltas.ts'

/** One reader of a view. */
export type Viewer = {
  /** Writes text. Returns false if the reader is slow: nothing more is written until `onDrain` calls back. */
  write(text: string): boolean
  /** Calls `resume` once, when the reader can take more. */
  onDrain(resume: () => void): void
}

export type ViewStreams = {
  /** Sends a snapshot at once, then a delta with each tick, until the returned function is called. */
  add(view: string, viewer: Viewer): () => void
  /** Sends the deltas. Must be called each second. A view without viewers costs nothing. */
  tick(): void
  viewers(): number
}

type Stream = {
  readonly view: string
  /** The view as of the last event. */
  state: Parts
  /** `missed` means that a delta passed while the viewer was slow. */
  readonly viewers: Map<Viewer, { slow: boolean; missed: boolean }>
}

/**
 * Sends views to viewers as server-sent events. An event is encoded once for all viewers of a view. A viewer whose
 * socket has not drained gets no events, so that a slow viewer costs no memory. Once the socket has drained, a viewer
 * that missed an event gets a new snapshot.
 */
export function createViewStreams(deps: {
  /** Returns the parts of a view that deltas carry. */
  read: (view: string) => Parts
  /** Returns the parts that only snapshots carry. A viewer appends the values of deltas to them. */
  readHistories: (view: string) => Parts
  /** Returns the time in UTC. */
  asOf: () => string
}): ViewStreams {
  const { read, readHistories, asOf } = deps
  const streams = new Map<string, Stream>()

  const toSnapshot = ({ view, state }: Stream) =>
    encode('snapshot', { asOf: asOf(), view: { ...state, ...readHistories(view) } })

  function write(stream: Stream, viewer: Viewer, text: string) {
    const place = stream.viewers.get(viewer)
    if (place === undefined || viewer.write(text)) return
    place.slow = true
    viewer.onDrain(() => {
      if (!stream.viewers.has(viewer)) return
      const { missed } = place
      place.slow = false
      place.missed = false
      // A viewer can be slow without having missed a delta, because one large event fills a socket's buffer. Such a
      // viewer needs no snapshot.
      if (missed) write(stream, viewer, toSnapshot(stream))
    })
  }

  return {
    add(view, viewer) {
      // An existing stream keeps its state. Its viewers have the deltas up to the last tick, so this state must stay
      // the base of the next delta.
      const stream = streams.get(view) ?? { view, state: read(view), viewers: new Map() }
      streams.set(view, stream)
      stream.viewers.set(viewer, { slow: false, missed: false })
      write(stream, viewer, toSnapshot(stream))
      return () => {
        stream.viewers.delete(viewer)
        if (stream.viewers.size === 0) streams.delete(view)
      }
    },
    tick() {
      for (const [view, stream] of streams) {
        const state = read(view)
        const text = encode('delta', toDelta(stream.state, state, asOf()))
        stream.state = state
        for (const [viewer, place] of stream.viewers) {
          if (place.slow) place.missed = true
          else write(stream, viewer, text)
        }
      }
    },
    viewers: () => [...streams.values()].reduce((sum, { viewers }) => sum + viewers.size, 0),
  }
}

/** JSON has no raw line breaks, so an event is one line of data. */
function encode(event: 'snapshot' | 'delta', data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
