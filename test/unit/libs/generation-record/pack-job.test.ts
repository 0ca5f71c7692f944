import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'
import {
  packJob,
  repackHold,
  toStoredJob,
  unpackJob,
  unpackStoredJob,
} from '#libs/generation-record/pack-job.ts'
import { generationJob } from '../../../support/generation-job.ts'

const chat = (content: string) =>
  generationJob({ request: { ...generationJob().request, messages: [{ role: 'user', content }] } })

test.for([
  { size: 'small', content: 'Hé', isRequestApart: false },
  { size: 'large', content: randomBytes(8_000).toString('hex'), isRequestApart: true },
])('a job with a $size request is the same after packing', async ({ content, isRequestApart }) => {
  const job = chat(content)
  const { id, model, gateway, stream } = job
  const packed = await packJob(job)
  expect(packed).toMatchObject({ id, model, gateway, stream })
  expect(packed.bytes).toBe(Buffer.byteLength(packed.jobText) + packed.requestBytes.length)
  const stored = unpackStoredJob(toStoredJob(packed, { idCount: 3, promptTokens: null }))
  expect(stored).toMatchObject({ isRequestApart, idCount: 3, promptTokens: null })
  expect(stored && (await unpackJob(stored, { id, model, gateway, stream }, packed.requestBytes))).toEqual(
    job,
  )
})

test('a job with the mark of this release is not parsed again; one of another release is', async () => {
  const { id, model, gateway, stream, ...rest } = generationJob()
  const record = { id, model, gateway, stream }
  const packed = await packJob({ ...record, ...rest, contextWindow: -1 })
  const text = toStoredJob(packed, { idCount: 0, promptTokens: null })
  const unpack = async (stored: ReturnType<typeof unpackStoredJob>) =>
    stored && (await unpackJob(stored, record, Buffer.alloc(0)))
  expect(await unpack(unpackStoredJob(text))).toMatchObject({ contextWindow: -1 })
  for (const other of [
    text.replace(/"form":"[^"]+"/u, '"form":"another"'),
    text.replace(/"form":"[^"]+",/u, ''),
  ]) {
    expect(other).not.toBe(text)
    expect(await unpack(unpackStoredJob(other))).toBeNull()
  }
})

test('a replaced hold changes nothing else', async () => {
  for (const content of ['Hello', 'Hello '.repeat(5_000)]) {
    const job = chat(content)
    const hold = { ...job.hold, amountNano: '5', receipt: 'another.bWFj' }
    expect(repackHold(await packJob(job), hold)).toEqual(await packJob({ ...job, hold }))
  }
})

test('the stored job has no receipt that settles its hold, only the proof of its gateway', async () => {
  const job = chat('Hello')
  const hold = { ...job.hold, receipt: 'payload.bWFj' }
  const { jobText } = await packJob({ ...job, hold })
  expect(jobText).not.toContain('bWFj')
  expect(JSON.parse(jobText)).toMatchObject({
    hold: { receipt: toOrphanReceipt('payload.bWFj', job.gateway) },
  })
})
