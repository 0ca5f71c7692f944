import { accessSync, constants } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the folder with the programs of the Kubernetes lab. */
export const labPrograms = () => process.env.KUBE_LAB_BIN ?? join(homedir(), '.cache/kube-lab')

/** Returns the paths of the programs that are missing in a folder. */
export function missingIn(folder, names) {
  return names.map((name) => join(folder, name)).filter((path) => !isExecutable(path))
}

/** Prints why a test script runs no tests. Returns its exit code, which differs from the code of a pass. */
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
