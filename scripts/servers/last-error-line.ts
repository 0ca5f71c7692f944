/** Returns the last line that a failed command wrote to standard error, or why the command could not run. */
export function lastErrorLine(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && typeof error.stderr === 'string') {
    return error.stderr.trim().split('\n').at(-1) ?? error.message
  }
  return String(error)
}
