/** A user of a pot. `owner` is, for example, an account. */
export type PotMember = {
  readonly owner: string
  /** The member with the lowest speed leaves first, and among equals the youngest. Absent: all are equal. */
  speed?(): number
  /** Called when the member has to leave. It has then left the pot. */
  evict(): void
}

/** A bounded amount of something, such as bytes or places, that owners share. */
export type FairPot<Member extends PotMember> = {
  /** Sets how much the member takes. Returns false if the member itself has to leave; it has then left the pot. */
  take(member: Member, size: number): boolean
  /** Returns true if a new member of this owner would get a place of size 1. */
  hasPlace(owner: string): boolean
  /** Does nothing for a member that has left. */
  leave(member: Member): void
  members(): Iterable<Member>
}

/**
 * Creates a pot of `limit`. A full pot does not refuse the next owner: the owner with the most gives up its slowest
 * members, until there is room. So however many owners fill the pot, another owner gets as much as each of them. Only an
 * owner that itself has the most, or as much as any other, gets no more. One owner may take at most `mostOfOwner`.
 */
export function createFairPot<Member extends PotMember>(limit: number, mostOfOwner = limit): FairPot<Member> {
  type Share = { taken: number; readonly sizes: Map<Member, number> }
  const shares = new Map<string, Share>()
  let taken = 0

  function set(member: Member, size: number): Share {
    const share = shares.get(member.owner) ?? { taken: 0, sizes: new Map<Member, number>() }
    const more = size - (share.sizes.get(member) ?? 0)
    share.sizes.set(member, size)
    share.taken += more
    taken += more
    shares.set(member.owner, share)
    return share
  }

  function leave(member: Member): void {
    if (shares.get(member.owner)?.sizes.has(member) !== true) return
    const share = set(member, 0)
    share.sizes.delete(member)
    if (share.sizes.size === 0) shares.delete(member.owner)
  }

  /** Returns the share that must become smaller, or null. It is `own`, unless another owner has more. */
  function findCrowded(own: Share): Share | null {
    if (own.taken > mostOfOwner) return own
    if (taken <= limit) return null
    let largest = own
    for (const share of shares.values()) if (share.taken > largest.taken) largest = share
    return largest
  }

  return {
    take(member, size) {
      const own = set(member, size)
      for (let crowded = findCrowded(own); crowded !== null; crowded = findCrowded(own)) {
        const slowest = findSlowest(crowded, member)
        leave(slowest)
        if (slowest === member) return false
        slowest.evict()
      }
      return true
    },
    hasPlace(owner) {
      const own = (shares.get(owner)?.taken ?? 0) + 1
      const isRoom = taken < limit || shares.values().some((share) => share.taken > own)
      return own <= mostOfOwner && isRoom
    },
    leave,
    *members() {
      for (const { sizes } of shares.values()) yield* sizes.keys()
    },
  }
}

function findSlowest<Member extends PotMember>(
  { sizes }: { readonly sizes: ReadonlyMap<Member, number> },
  last: Member,
): Member {
  let slowest = last
  let lowest = Infinity
  for (const member of sizes.keys()) {
    const speed = member.speed?.() ?? 0
    if (speed > lowest) continue
    slowest = member
    lowest = speed
  }
  return slowest
}
