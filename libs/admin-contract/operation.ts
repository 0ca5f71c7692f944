import {
  defineOperations,
  type ChangeOperation as Change,
  type ExportOperation as Export,
  type ReadOperation as Read,
} from '#libs/http-contract/operation.ts'
import type { AdminErrorCode } from './admin-errors.ts'
import type { Role } from './roles.ts'

export type { AnswerOf, InputOf } from '#libs/http-contract/operation.ts'

type Own = {
  /** The roles that may call the operation. */
  readonly roles: readonly Role[]
}

export type ReadOperation = Read<AdminErrorCode> & Own
export type ChangeOperation = Change<AdminErrorCode> & Own
export type ExportOperation = Export<AdminErrorCode> & Own
export type AnsweringOperation = ReadOperation | ChangeOperation
export type Operation = AnsweringOperation | ExportOperation

export const { defineRead, defineChange, defineExport } = defineOperations<AdminErrorCode, Own>()
