/**
 * Returns what each kind of client needs to use the API at `base`, which ends with `/v1`: environment variables,
 * example code or settings. Clients read the key from an environment variable. Where the result sets this variable, `…`
 * stands for the key.
 */
export function toSnippets(
  base: string,
  model: string,
): readonly { name: string; about: string; text: string }[] {
  const [inJson, inShell] = [JSON.stringify(model), quote(base)]
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] })
  return [
    {
      name: 'Environment',
      about: 'The clients of OpenAI read both variables; paste your key in place of the dots.',
      text: `export OPENAI_BASE_URL=${inShell}\nexport OPENAI_API_KEY='…'`,
    },
    {
      name: 'curl',
      about: '',
      text: [
        `curl ${quote(`${base}/chat/completions`)} \\`,
        `  -H "authorization: Bearer $OPENAI_API_KEY" \\`,
        `  -H 'content-type: application/json' \\`,
        `  -d ${quote(body)}`,
      ].join('\n'),
    },
    {
      name: 'Python',
      about: 'pip install openai',
      text: [
        'from openai import OpenAI',
        '',
        `client = OpenAI(base_url=${JSON.stringify(base)})  # the key is OPENAI_API_KEY`,
        'answer = client.chat.completions.create(',
        `    model=${inJson},`,
        '    messages=[{"role": "user", "content": "Hello!"}],',
        ')',
        'print(answer.choices[0].message.content)',
      ].join('\n'),
    },
    {
      name: 'JavaScript',
      about: 'npm install openai',
      text: [
        // `quote` is for shells, but for this name its result is a JavaScript string as well.
        `import OpenAI from ${quote('openai')}`,
        '',
        `const client = new OpenAI({ baseURL: ${JSON.stringify(base)} }) // the key is OPENAI_API_KEY`,
        'const answer = await client.chat.completions.create({',
        `  model: ${inJson},`,
        "  messages: [{ role: 'user', content: 'Hello!' }],",
        '})',
        'console.log(answer.choices[0].message.content)',
      ].join('\n'),
    },
    {
      name: 'Codex',
      about: 'Codex reads ~/.codex/config.toml.',
      text: [
        `model = ${inJson}`,
        'model_provider = "millrace"',
        '',
        '[model_providers.millrace]',
        'name = "Millrace"',
        `base_url = ${JSON.stringify(base)}`,
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
      ].join('\n'),
    },
    {
      name: 'Claude Code',
      about: 'Claude Code adds /v1 to the address itself, and uses the second model for small tasks.',
      text: [
        `export ANTHROPIC_BASE_URL=${quote(base.replace(/\/v1$/u, ''))}`,
        "export ANTHROPIC_API_KEY='…'",
        `export ANTHROPIC_MODEL=${quote(model)}`,
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${quote(model)}`,
      ].join('\n'),
    },
  ]
}

/** Returns any text as one word of a POSIX shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
