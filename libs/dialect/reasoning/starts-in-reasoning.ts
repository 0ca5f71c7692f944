/**
 * Returns whether the template opened the reasoning, so that the output begins inside it. Such a prompt ends with the
 * open tag (and blanks). An open tag elsewhere is closed again or was written by the caller, whose text must not decide
 * this.
 */
export function startsInReasoning(prompt: string, openTag: string): boolean {
  return prompt.trimEnd().endsWith(openTag)
}
