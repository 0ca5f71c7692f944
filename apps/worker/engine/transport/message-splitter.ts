/** Cuts the bytes of a gRPC stream into its messages. */
export type MessageSplitter = {
  /** Calls back with each message that these bytes complete. Throws a FramingError, after which the stream is unreadable. */
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

/** A compression flag and the message's length. */
const PREFIX_BYTES = 5

/**
 * Splits the received bytes into messages. Each message has a prefix of five bytes. One HTTP/2 frame can have several
 * messages, and a message or its prefix can span several frames. A message that came in one piece is a view of the
 * received bytes, and valid until `onMessage` returns. At most one unfinished message of at most `maxBytes` is
 * buffered. Source: "Length-Prefixed-Message" in gRPC over HTTP2.
 */
export function createMessageSplitter(maxBytes: number): MessageSplitter {
  let pieces: Buffer[] = []
  let buffered = 0
  /** No message is complete with fewer bytes than this. */
  let wanted = 0

  function join(bytes: Buffer): Buffer | null {
    if (buffered === 0) return bytes
    pieces.push(bytes)
    buffered += bytes.length
    if (buffered < wanted) return null
    const joined = Buffer.concat(pieces, buffered)
    pieces = []
    buffered = 0
    return joined
  }

  function keep(rest: Buffer, wants: number): void {
    if (rest.length === 0) return
    pieces = [rest]
    buffered = rest.length
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
          keep(data.subarray(at), PREFIX_BYTES + length)
          return
        }
        onMessage(data.subarray(at + PREFIX_BYTES, end))
        at = end
      }
      keep(data.subarray(at), PREFIX_BYTES)
    },
    isBetweenMessages: () => buffered === 0,
  }
}

function readLength(data: Buffer, at: number, maxBytes: number): number {
  if (data[at] !== 0) {
    throw new FramingError('compressed', 'a compressed message, although no compression was offered')
  }
  const length = data.readUInt32BE(at + 1)
  if (length > maxBytes) {
    throw new FramingError('too-long', `a message of ${length} bytes, the limit is ${maxBytes}`)
  }
  return length
}

/** Returns a message with its prefix. Throws a FramingError if the message is longer than `maxBytes`. */
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
