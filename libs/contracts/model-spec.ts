import { z } from 'zod'

/** Nano-credits per 1,000,000 tokens, as decimal text so that no JSON reader rounds it. */
const Price = z.string().regex(/^\d{1,18}$/, 'expected whole nano-credits per 1,000,000 tokens, as text')

/** The range of a PostgreSQL integer, from zero. */
const Count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)

/**
 * One entry of the catalog file: the properties of a model that callers see, and its prices. The files in `models/`
 * describe to the worker how to render the model's prompts and parse its output.
 */
export const ModelSpec = z
  .strictObject({
    /** The public id. Braces would break the Redis hash tag, spaces the URL. */
    id: z
      .string()
      .min(1)
      .max(200)
      .regex(/^[A-Za-z0-9._:/@+-]+$/),
    created: z.int().min(0),
    ownedBy: z
      .string()
      .max(200)
      .regex(/^\P{C}+$/u, 'expected printable text'),
    kind: z.enum(['chat', 'embedding']),
    contextWindow: Count.min(1),
    /** 0 for embedding models. */
    maxOutputTokens: Count,
    /** The length of an embedding model's vectors, and whether they may be cut short (Matryoshka embeddings). */
    embedding: z
      .strictObject({ dimensions: Count.min(1), matryoshka: z.boolean() })
      .nullable()
      .default(null),
    tools: z.boolean(),
    reasoning: z.boolean(),
    /** The reasoning effort of a request that names none. */
    defaultEffort: z.enum(['off', 'low']),
    inputPriceNano: Price,
    cachedInputPriceNano: Price,
    outputPriceNano: Price,
    /** Reported instead of the measured availability, so that callers can test how they handle it. */
    fixedState: z.enum(['busy', 'warming']).nullable().default(null),
    enabled: z.boolean(),
  })
  .refine((model) => BigInt(model.cachedInputPriceNano) <= BigInt(model.inputPriceNano), {
    path: ['cachedInputPriceNano'],
    message: 'expected at most inputPriceNano: holds assume no discount',
    // A price that is not a number cannot be compared. It is reported as another issue.
    when: ({ issues }) => issues.length === 0,
  })
  .refine((model) => (model.kind === 'embedding') === (model.embedding !== null), {
    path: ['embedding'],
    message: 'expected for a model that embeds, and for no other',
  })
export type ModelSpec = z.infer<typeof ModelSpec>

export const CatalogFile = z
  .strictObject({ models: z.array(ModelSpec) })
  .refine((file) => new Set(file.models.map((model) => model.id)).size === file.models.length, {
    message: 'model ids must be unique',
  })
export type CatalogFile = z.infer<typeof CatalogFile>
