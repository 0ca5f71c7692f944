/** Something that a person must put right. Its message is one clear sentence and is all that they see. */
export class SetupError extends Error {}

/** Runs a script's main function. A SetupError is told in its own words; anything else, without its stack. */
export async function runScript(main) {
  try {
    process.exitCode = await main()
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : `Unexpected: ${error?.message ?? error}`)
    process.exitCode = 1
  }
}
