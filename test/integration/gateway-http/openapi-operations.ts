import { CHAT, MODEL } from './gateway-app.ts'
import { OWN_KEY_ID, SETTLED_ID } from './own-account.ts'

/** The request for each operation; every operation of the description must be here. */
export const OPERATIONS: Record<
  string,
  { path: string; method?: string; body?: Record<string, unknown>; manages?: true }
> = {
  createChatCompletion: { path: '/v1/chat/completions', body: CHAT },
  createResponse: { path: '/v1/responses', body: { model: MODEL, input: 'Hi' } },
  createEmbedding: { path: '/v1/embeddings', body: { model: 'vectors', input: ['a', 'b'] } },
  createMessage: { path: '/v1/messages', body: { ...CHAT, max_tokens: 16 } },
  countMessageTokens: { path: '/v1/messages/count_tokens', body: { ...CHAT } },
  countResponseTokens: { path: '/v1/responses/input_tokens', body: { model: MODEL, input: 'Hi' } },
  createCompletion: { path: '/v1/completions', body: { model: MODEL, prompt: 'Hi' } },
  readHealth: { path: '/health' },
  listModels: { path: '/v1/models' },
  retrieveModel: { path: `/v1/models/${MODEL}` },
  readKey: { path: '/v1/key' },
  readCredits: { path: '/v1/credits' },
  readGeneration: { path: `/v1/generation?id=${SETTLED_ID}` },
  listGenerations: { path: '/v1/generations' },
  readActivity: { path: '/v1/activity' },
  listKeys: { path: '/v1/keys', manages: true },
  createKey: { path: '/v1/keys', body: { name: 'laptop' }, manages: true },
  readAccountKey: { path: `/v1/keys/${OWN_KEY_ID}`, manages: true },
  changeKey: { path: `/v1/keys/${OWN_KEY_ID}`, method: 'PATCH', body: { limit: 0.5 }, manages: true },
  revokeKey: { path: `/v1/keys/${OWN_KEY_ID}`, method: 'DELETE', manages: true },
  rotateKey: { path: `/v1/keys/${OWN_KEY_ID}/rotate`, body: { overlap_seconds: 60 }, manages: true },
}

/** Returns whether an operation runs a generation. */
export const runs = (operationId: string) =>
  OPERATIONS[operationId]?.body !== undefined && !OPERATIONS[operationId].manages

/** Returns whether the requests of an operation may wait for a model that is being started. Counts of tokens may not. */
export const mayWait = (operationId: string) => runs(operationId) && !operationId.startsWith('count')
