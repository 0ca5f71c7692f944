import type { Claim } from '#libs/generation-record/generation-record.ts'
import { ALONE } from '#libs/generation-record/quarantine.ts'
import { LONG } from '#libs/generation-record/requirements.ts'
import type { Prefills } from './prefills.ts'
import type { Quarantine } from './quarantine.ts'

/**
 * Claims for an engine that reads few long prompts at a time, and one generation in quarantine. Only one claim at a time
 * may get one of these: this claim offers `LONG` and `ALONE`, each if the engine has room for it. When it has got a
 * generation, and another claim has meanwhile left some unserved, `look` is called.
 */
export function createClaimInRoom(deps: {
  /** The other features of the worker. */
  features: readonly string[]
  /** Null for embeddings, which are never long. */
  prefills: Pick<Prefills, 'expect' | 'pass' | 'end' | 'missed'> | null
  quarantine: Pick<Quarantine, 'hasRoom' | 'missed'>
  claim: (features: readonly string[]) => Promise<Claim>
  look: () => void
}): () => Promise<Claim> {
  const { features, prefills, quarantine, claim, look } = deps
  let [isPlaceTaken, isPlaceMissed] = [false, false]

  async function claimWithPlace(): Promise<Claim> {
    isPlaceTaken = true
    let own: object = {}
    let gotOne = false
    const mayBeLong = prefills?.expect(own) ?? false
    const mayBeAlone = quarantine.hasRoom()
    try {
      const answer = await claim([...features, ...(mayBeLong ? [LONG] : []), ...(mayBeAlone ? [ALONE] : [])])
      gotOne = answer.status !== 'nothing'
      prefills?.pass(own, answer)
      own = answer
      if ('leavesUnserved' in answer) {
        if (!mayBeLong) prefills?.missed()
        if (!mayBeAlone) quarantine.missed()
      }
      return answer
    } finally {
      // By then the answer's place has been passed on to its run, if there is one.
      setImmediate(() => {
        isPlaceTaken = false
        prefills?.end(own)
        const isMissed = isPlaceMissed && gotOne
        isPlaceMissed = false
        if (isMissed) look()
      })
    }
  }

  return async () => {
    if (!isPlaceTaken) return await claimWithPlace()
    const answer = await claim(features)
    if ('leavesUnserved' in answer) isPlaceMissed = true
    return answer
  }
}
