import { z } from 'zod'
import type { OperationDescription } from '../operation-description.ts'

const Health = z.object({ status: z.literal('ok') })

export const healthDescription: OperationDescription = {
  method: 'get',
  path: '/health',
  id: 'readHealth',
  summary: 'Reports whether this gateway takes requests.',
  description:
    'For balancers and load tools. It needs no key, and does not depend on the state of any model.',
  parameters: [],
  request: null,
  answer: { name: 'Health', schema: Health, examples: { ok: { status: 'ok' } } },
  stream: null,
  errors: ['model_unavailable'],
  isPublic: true,
}
