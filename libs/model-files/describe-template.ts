import { probeShapes } from '#libs/chat-template/chat-renderer.ts'
import { describeShapes, type ShapeDescription } from '#libs/chat-template/shape/describe-shapes.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import type { Model } from './model.ts'

/**
 * Describes the parts of a conversation that a model's chat template cannot print, and how conversations are changed to
 * fit the template. Returns null if the model has no template.
 */
export function describeTemplate(
  { template }: Pick<Model, 'template'>,
  { toolCalls }: Pick<ModelFamily, 'toolCalls'>,
): ShapeDescription | null {
  if (template.source === null) return null
  const { shapes = probeShapes(template, { writeCalls: openCallWriter(toolCalls) }) } = template
  return describeShapes(shapes)
}
