import { expect, test } from 'vitest'
import { FORM } from '#libs/generation-record/keys.ts'
import { createClusterPicture } from '#apps/gateway/demand/cluster-picture.ts'

function heartbeat(callFormat: string | undefined, kind: 'worker' | 'gateway' = 'worker') {
  const engine = {
    model: 'm',
    ready: false,
    slots: 1,
    running: 0,
    meanGenerationMs: null,
    slotTokensPerS: null,
    contextWindow: 1,
  }
  const engines = [callFormat === undefined ? engine : { ...engine, callFormat }]
  return { id: kind, form: FORM, kind, name: kind, engines, late: false } as const
}

test('the call format of a model is what its last worker reported, and unknown before', () => {
  const picture = createClusterPicture(() => 0)
  picture.applyHeartbeat(heartbeat('harmony', 'gateway'))
  picture.applyHeartbeat(heartbeat(undefined))
  expect(picture.callFormatOf('m')).toBeNull()
  picture.applyHeartbeat(heartbeat('hermes'))
  picture.applyHeartbeat(heartbeat(undefined))
  expect([picture.callFormatOf('m'), picture.callFormatOf('other')]).toEqual(['hermes', null])
  picture.applyHeartbeat(heartbeat('json'))
  expect(picture.callFormatOf('m')).toBe('json')
})
