import { toDelta, type Parts } from '#libs/live-view/deltas.ts'

/** One reader of a view. */
export type Viewer = {
  /** False when the reader is slow: nothing more is written until `onDrain` is called. */
  write(text: string): boolean
  /** `resume` is to be called once, when the reader can take more. */
  onDrain(resume: () => void): void
}

export type ViewStreams = {
  /** Sends a snapshot at once, then a delta with each tick, until the returned function is called. */
  add(view: string, viewer: Viewer): () => void
  /** Call it each second. A view without viewers costs nothing. */
  tick(): void
  viewers(): number
}

/** Parts that only snapshots have: a viewer continues them with what deltas bring. */
const SNAPSHOT_ONLY = ['histories', 'longHistories', 'sparklines']

type Stream = {
  /** As of the last event. */
  state: Parts
  /** `missed`: a delta passed while it was slow. */
  readonly viewers: Map<Viewer, { slow: boolean; missed: boolean }>
}

/**
 * Server-sent events of views. An event is encoded once for all viewers of a view. A viewer whose socket has not drained
 * gets no events meanwhile, so a slow one costs no memory, and then a new snapshot.
 */
export function createViewStreams(deps: {
  read: (view: string) => Parts
  /** UTC. */
  asOf: () => string
}): ViewStreams {
  const { read, asOf } = deps
  const streams = new Map<string, Stream>()

  const toSnapshot = (state: Parts) => encode('snapshot', { asOf: asOf(), view: state })

  function write(stream: Stream, viewer: Viewer, text: string) {
    const place = stream.viewers.get(viewer)
    if (place === undefined || viewer.write(text)) return
    place.slow = true
    viewer.onDrain(() => {
      if (!stream.viewers.has(viewer)) return
      const { missed } = place
      place.slow = false
      place.missed = false
      // A large event fills the buffer of any socket: only one that has missed something begins anew.
      if (missed) write(stream, viewer, toSnapshot(stream.state))
    })
  }

  return {
    add(view, viewer) {
      const state = read(view)
      const stream = streams.get(view) ?? { state, viewers: new Map() }
      // Others have the deltas up to the state before this one, so theirs stays the base of the next delta.
      streams.set(view, stream)
      stream.viewers.set(viewer, { slow: false, missed: false })
      write(stream, viewer, toSnapshot({ ...state, ...stream.state, ...onlyInSnapshots(state) }))
      return () => {
        stream.viewers.delete(viewer)
        if (stream.viewers.size === 0) streams.delete(view)
      }
    },
    tick() {
      for (const [view, stream] of streams) {
        const state = read(view)
        const text = encode('delta', toDelta(stream.state, state, { asOf: asOf(), omit: SNAPSHOT_ONLY }))
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

function onlyInSnapshots(state: Parts): Parts {
  return Object.fromEntries(Object.entries(state).filter(([name]) => SNAPSHOT_ONLY.includes(name)))
}

/** JSON has no line breaks of its own, so an event is one line of data. */
function encode(event: 'snapshot' | 'delta', data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
