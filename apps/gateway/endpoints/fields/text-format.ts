import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import type { TextFormat } from './check-text-grammar.ts'
import { Choices, ConstraintText } from './structured-outputs.ts'

/** A format for output that is not JSON. `place` is the field of the format's object that has the constraint. */
export type PlacedTextFormat = TextFormat & { readonly place: string }

const REGEX = 'expected text that is not empty, or an object with such a text as regex'

const Regex = z.union(
  [ConstraintText, z.strictObject({ regex: ConstraintText }, REGEX).transform(({ regex }) => regex)],
  REGEX,
)

/**
 * The fields in which interfaces have the constraint of each type. The first one is named as in vLLM's
 * `structured_outputs`.
 */
const FORMS = {
  regex: formOf(
    {
      // TensorRT-LLM. Perplexity has an object here.
      regex: Regex,
      // Together, and xgrammar's structural tags.
      pattern: ConstraintText,
      // Text Generation Inference.
      value: ConstraintText,
      // Friendli.
      schema: ConstraintText,
    },
    (pattern) => ({ type: 'regex', pattern }),
  ),
  choice: formOf({ choice: Choices, choices: Choices }, (choices) => ({ type: 'choice', choices })),
  // Fireworks, Baseten and OpenRouter.
  grammar: formOf({ grammar: ConstraintText }, (grammar) => ({ type: 'grammar', grammar })),
}

export const TEXT_FORMAT_TYPES = ['regex', 'choice', 'grammar'] as const satisfies (keyof typeof FORMS)[]

type TextFormatType = (typeof TEXT_FORMAT_TYPES)[number]

export const isTextFormatType = (type: string): type is TextFormatType => Object.hasOwn(FORMS, type)

/** The forms in which `parseTextFormat` accepts a format, for the description of the interface. */
export const TEXT_FORMAT_DIALECTS = TEXT_FORMAT_TYPES.flatMap((type) =>
  Object.entries(FORMS[type].fields).map(([field, schema]) =>
    z.object({ type: z.literal(type), [field]: schema }),
  ),
)

/**
 * Parses the object of a format of the given type. The object has its constraint in one field of the type, or the same
 * constraint in several of them. An object with any other field is refused, because the field might change what the
 * constraint means: OpenAI's grammars of custom tools have their language in `syntax`. A field of null counts as
 * absent. If the object is wrong, adds its first issue to `context` and returns undefined.
 */
export function parseTextFormat(
  type: TextFormatType,
  format: Readonly<Record<string, unknown>>,
  context: z.core.$RefinementCtx,
): PlacedTextFormat | undefined {
  const { type: _, ...fields } = format
  const parsed = FORMS[type].parse(fields, context)
  if (parsed === 'none') context.addIssue({ code: 'custom', message: `expected a ${type}`, path: [type] })
  return typeof parsed === 'string' ? undefined : parsed
}

function formOf<Value>(
  fields: Readonly<Record<string, z.ZodType<Value>>>,
  toFormat: (value: Value) => TextFormat,
) {
  /** Returns `none` if every field is absent, and `wrong` if an issue was added to `context`. */
  function parse(
    given: Readonly<Record<string, unknown>>,
    context: z.core.$RefinementCtx,
  ): PlacedTextFormat | 'none' | 'wrong' {
    let first: { readonly place: string; readonly value: Value } | undefined
    for (const [place, field] of Object.entries(given)) {
      if (field === null) continue
      const schema = Object.hasOwn(fields, place) ? fields[place] : undefined
      const value = parsePart(schema ?? NoField, field, { path: [place], context })
      if (value === undefined) return 'wrong'
      first ??= { place, value }
      if (isDeepStrictEqual(first.value, value)) continue
      const message = `expected none, or the same value as in ${first.place}`
      context.addIssue({ code: 'custom', message, path: [place] })
      return 'wrong'
    }
    return first === undefined ? 'none' : { ...toFormat(first.value), place: first.place }
  }
  return { fields, parse }
}

const NoField = z.never('expected no field of this name')
