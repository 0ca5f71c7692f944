// scripts/test-node.mjs has started the lab and runs Vitest in the lab's namespaces.
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from '../support/run-folder.ts'

export function setup(): () => void {
  const folder = makeRunFolder()
  process.env[RUN_FOLDER_VARIABLE] = folder
  return () => removeRunFolder(folder)
}
