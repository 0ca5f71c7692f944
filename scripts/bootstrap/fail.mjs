/** An error that the user must fix. Its message is one clear sentence, printed without a stack. */
export class SetupError extends Error {}

/** Runs a script's main function, which resolves with the exit code. Prints the message of an error and exits with 1. */
export async function runScript(main) {
  try {
    process.exitCode = await main()
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : `Unexpected: ${error?.message ?? error}`)
    process.exitCode = 1
  }
}
