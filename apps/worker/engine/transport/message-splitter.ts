/** Cuts the bytes of a gRPC stream into its messages. */
export type MessageSplitter = {
  /** Tells of each message that these bytes complete. Throws a FramingError; the stream cannot be read on then. */
  readonly push: (bytes: Buffer, onMessage: (message: Buffer) => void) => void
  /** False in the middle of a message. */
  readonly isBetweenMessages: () => boolean
}

export class FramingError extends Error {
  readonly reason: 'compressed' | 'too-long'

  constructor(reason: FramingError['reason'], message: string) {
    super(message)
    this.name = 'FramingError'
    this.reason = reason
  }
}

/** A flag for compression and the length of what follows. */
const PREFIX_BYTES = 5

/**
 * Messages have a prefix of five bytes and come as the network cuts them: several in one frame, one over many
 * frames, a prefix over two. A message is a view of the bytes it came in wherever it came in one piece, and is
 * good until `onMessage` returns. What is held back is at most one unfinished message of at most `maxBytes`.
 * Source: "Length-Prefixed-Message" in gRPC over HTTP2.
 */
export function createMessageSplitter(maxBytes: number): MessageSplitter {
  let pieces: Buffer[] = []
  let held = 0
  /** With so many bytes there is more to be read than now. */
  let wanted = 0

  function join(bytes: Buffer): Buffer | null {
    if (held === 0) return bytes
    pieces.push(bytes)
    held += bytes.length
    if (held < wanted) return null
    const joined = Buffer.concat(pieces, held)
    pieces = []
    held = 0
    return joined
  }

  function hold(rest: Buffer, wants: number): void {
    if (rest.length === 0) return
    pieces = [rest]
    held = rest.length
    wanted = wants
  }

  return {
    push(bytes, onMessage) {
      const data = join(bytes)
      if (data === null) return
      let at = 0
      while (at + PREFIX_BYTES <= data.length) {
        const length = readLength(data, at, maxBytes)
        const end = at + PREFIX_BYTES + length
        if (end > data.length) {
          hold(data.subarray(at), PREFIX_BYTES + length)
          return
        }
        onMessage(data.subarray(at + PREFIX_BYTES, end))
        at = end
      }
      hold(data.subarray(at), PREFIX_BYTES)
    },
    isBetweenMessages: () => held === 0,
  }
}

function readLength(data: Buffer, at: number, maxBytes: number): number {
  if (data[at] !== 0) {
    throw new FramingError('compressed', 'a compressed message, which nobody asked for')
  }
  const length = data.readUInt32BE(at + 1)
  if (length > maxBytes) {
    throw new FramingError('too-long', `a message of ${length} bytes, the limit is ${maxBytes}`)
  }
  return length
}

/** The bytes of a message as they are sent. Throws a FramingError when it is longer than `maxBytes`. */
export function toFramed(message: Buffer, maxBytes: number): Buffer {
  if (message.length > maxBytes) {
    throw new FramingError('too-long', `a message of ${message.length} bytes, the limit is ${maxBytes}`)
  }
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length)
  framed[0] = 0
  framed.writeUInt32BE(message.length, 1)
  message.copy(framed, PREFIX_BYTES)
  return framed
}
