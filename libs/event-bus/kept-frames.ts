/** Frames that a gateway has not acknowledged yet. They are published again when the gateway asks for them. */
export type KeptFrames = {
  /** Returns the number of the next frame to `gateway`; the first is 1. */
  nextNumber(gateway: string): number
  /** Keeps a frame. The frames of one gateway are kept in the order of their numbers. */
  keep(gateway: string, text: string): void
  /** Drops the frames up to and including this number, because they have arrived. */
  drop(gateway: string, upTo: number): void
  /** Drops all frames to a gateway that is dead. Its numbers continue if it turns out to live. */
  forget(gateway: string): void
  /** Returns the lowest kept number; one above the last number if no frame is kept. */
  firstKept(gateway: string): number
  lastNumber(gateway: string): number
  /** Returns the kept frames from this number on, in order. */
  from(gateway: string, number: number): Iterable<string>
  /** Returns the size of the kept frames of all gateways, as UTF-8. */
  bytes(): number
}

/**
 * The kept frames to one gateway. `texts` has the texts of the frames, and `keptMs` has the times since which they are
 * kept. These are two arrays, not one object per frame, because there are many frames. The first kept frame has the
 * index `head` in both arrays and the number `first`. `last` is the number that was issued last.
 */
type Link = { first: number; last: number; head: number; texts: string[]; keptMs: number[] }

/** How often the age of kept frames is checked. */
const EXPIRE_EVERY_MS = 1_000
const COMPACT_AT = 1_024

/**
 * A frame is kept for at most `keepMs`. If the kept frames of all gateways together have more than `keepBytes`, the
 * oldest frames are dropped. A kept frame is the published string itself, which takes at most twice its UTF-8 bytes of
 * memory.
 */
export function createKeptFrames(options: {
  keepMs: number
  keepBytes: number
  nowMs: () => number
}): KeptFrames {
  const { keepMs, keepBytes, nowMs } = options
  const links = new Map<string, Link>()
  let bytes = 0
  let expiredMs = nowMs()

  function linkOf(gateway: string): Link {
    const known = links.get(gateway)
    if (known !== undefined) return known
    const link: Link = { first: 1, last: 0, head: 0, texts: [], keptMs: [] }
    links.set(gateway, link)
    return link
  }

  function dropFirst(link: Link) {
    bytes -= Buffer.byteLength(link.texts[link.head] ?? '')
    link.texts[link.head] = ''
    link.head += 1
    link.first += 1
    if (link.head === link.texts.length) {
      link.texts = []
      link.keptMs = []
      link.head = 0
    } else if (link.head >= COMPACT_AT && link.head * 2 > link.texts.length) {
      link.texts.splice(0, link.head)
      link.keptMs.splice(0, link.head)
      link.head = 0
    }
  }

  const isEmpty = (link: Link) => link.head === link.texts.length
  const oldestMs = (link: Link) => link.keptMs[link.head] ?? Infinity

  function expire(now: number) {
    expiredMs = now
    for (const link of links.values()) {
      while (now - oldestMs(link) >= keepMs) dropFirst(link)
    }
  }

  function shrink() {
    while (bytes > keepBytes) {
      let oldest: Link | null = null
      for (const link of links.values()) {
        if (!isEmpty(link) && (oldest === null || oldestMs(link) < oldestMs(oldest))) oldest = link
      }
      if (oldest === null) return
      dropFirst(oldest)
    }
  }

  return {
    nextNumber: (gateway) => (linkOf(gateway).last += 1),
    keep(gateway, text) {
      const link = linkOf(gateway)
      const now = nowMs()
      link.texts.push(text)
      link.keptMs.push(now)
      bytes += Buffer.byteLength(text)
      if (bytes > keepBytes) shrink()
      if (now - expiredMs >= EXPIRE_EVERY_MS) expire(now)
    },
    drop(gateway, upTo) {
      const link = links.get(gateway)
      if (link === undefined) return
      while (!isEmpty(link) && link.first <= upTo) dropFirst(link)
    },
    forget(gateway) {
      const link = links.get(gateway)
      if (link === undefined) return
      while (!isEmpty(link)) dropFirst(link)
      // A number may have been issued for a frame that was never kept.
      link.first = link.last + 1
    },
    firstKept(gateway) {
      expire(nowMs())
      return links.get(gateway)?.first ?? 1
    },
    lastNumber: (gateway) => links.get(gateway)?.last ?? 0,
    *from(gateway, number) {
      const link = links.get(gateway)
      if (link === undefined) return
      for (let at = link.head + Math.max(0, number - link.first); at < link.texts.length; at += 1) {
        yield link.texts[at] ?? ''
      }
    },
    bytes() {
      expire(nowMs())
      return bytes
    },
  }
}
