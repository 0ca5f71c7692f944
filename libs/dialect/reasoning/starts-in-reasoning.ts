/**
 * Returns whether the template opened the reasoning, so that the output begins inside it. The prompt then ends with the
 * open tag (and blanks). An open tag at any other place does not count: either it is closed again, or the caller wrote
 * it, and the caller's text must not decide where the reasoning begins.
 */
export function startsInReasoning(prompt: string, openTag: string): boolean {
  return prompt.trimEnd().endsWith(openTag)
}
