import { probeShapes } from '#libs/chat-template/chat-renderer.ts'
import { describeShapes, type ShapeDescription } from '#libs/chat-template/shape/describe-shapes.ts'
import type { ModelFamily } from '#libs/dialect/family.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import type { Model } from './model.ts'

/** What of a conversation a model's chat template cannot print, and what is changed for it; null without a template. */
export function describeTemplate(
  { template }: Pick<Model, 'template'>,
  { toolCalls }: Pick<ModelFamily, 'toolCalls'>,
): ShapeDescription | null {
  if (template.source === null) return null
  const { shapes = probeShapes(template, { writeCalls: openCallWriter(toolCalls) }) } = template
  return describeShapes(shapes)
}
