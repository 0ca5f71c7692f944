import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The folder with the programs of the Kubernetes lab. */
export const labPrograms = () => process.env.KUBE_LAB_BIN ?? join(homedir(), '.cache/kube-lab')

/** The paths of the programs that a folder lacks. */
export function missingIn(folder, names) {
  return names.map((name) => join(folder, name)).filter((path) => !isExecutable(path))
}

/** Says why a test script runs no tests; returns its exit code, which is not that of a pass. */
export function refuse(script, reason) {
  console.error(`${script}: ${reason}`)
  return 3
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
