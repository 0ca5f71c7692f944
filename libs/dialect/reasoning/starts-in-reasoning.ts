/**
 * Whether the template has opened the model's thinking, so that its output begins inside it. Templates that do
 * so end with the open tag (and blanks); one anywhere else is closed again or was written by the caller, whose
 * text must not decide this.
 */
export function startsInReasoning(prompt: string, openTag: string): boolean {
  return prompt.trimEnd().endsWith(openTag)
}
