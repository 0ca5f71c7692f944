// Compares the token counts of the same requests' prompts through Millrace (gateway and worker) and through vLLM's own
// HTTP server: a tool loop of three turns, a call that is cut, a stop string in a call, several system messages.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { describeShapes } from '#libs/chat-template/shape/describe-shapes.ts'
import { guessFamily } from '#libs/dialect/guess-family.ts'
import { readFamily } from '#libs/model-files/load-model.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel } from '#libs/model-files/model.ts'
import { startEngineCluster } from '#test/support/engine-cluster.ts'
import { setup, teardown } from '#test/support/global-setup.ts'
import { openChatServer, type Answer, type ChatServer } from './chat-server.ts'
import { leadConversations, type Asked } from './conversations.ts'
import { openFitter, type Fitter } from './fit-request.ts'

const HELP = `npm run test:prompts -- --engine HOST:PORT --http URL --folder FOLDER [OPTIONS] [TEMPLATE.jinja …]

Asks the same of Millrace and of vLLM's own HTTP server, and compares how many tokens their prompts have. Starts a
gateway, a worker, billing, Redis and PostgreSQL of its own; the two vLLM servers of the same model run already.

  --engine HOST:PORT  a "vllm serve FOLDER --grpc"
  --http URL          a "vllm serve FOLDER --enable-auto-tool-choice --tool-call-parser hermes"
  --folder FOLDER     the model's small files; the weights do not matter and may be random (--load-format dummy)
  --family NAME       a file of models/families/ (default: guessed by the chat template)
  TEMPLATE.jinja …    chat templates to compare in place of the model's own; the HTTP server needs
                      --trust-request-chat-template for them

Where the counts differ, vLLM is asked once more, with the messages as Millrace changes them for the template, and
Millrace with {} in place of arguments that are no JSON object, which is what vLLM makes of them: equal counts then show
that this is the whole difference. The exit code is 1 where a difference remains.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string' },
    http: { type: 'string' },
    folder: { type: 'string' },
    family: { type: 'string' },
    help: { type: 'boolean' },
  },
})
const { engine, http, folder } = values
if (values.help === true || engine === undefined || http === undefined || folder === undefined) {
  console.log(HELP)
  process.exit(values.help === true ? 0 : 2)
}

type Compared = {
  readonly id: string
  readonly name: string
  readonly family: string
  readonly source: string
}

const files = await createModel(await readModelFolder(folder))
const paths = positionals.length > 0 ? positionals : [undefined]
const models = paths.map((template, index): Compared & { template: string | undefined } => {
  const source = template === undefined ? files.template.source : readFileSync(template, 'utf8')
  if (source === null) throw new Error(`${folder} has no chat template`)
  const name = template === undefined ? 'its own chat template' : basename(template)
  const family = values.family ?? guessFamily({ modelType: '', chatTemplate: source })?.family
  if (family === undefined) throw new Error(`${name}: no family matches; name one with --family`)
  return { id: `model-${index}`, name, family, source, template }
})

/** Forbids blanks: JSON allows any number of blanks between its parts, and a model with random weights writes them. */
const withoutBlanks = Object.fromEntries(
  Array.from({ length: files.tokenizer.vocabularySize }, (_, token) => token)
    .filter((token) => /^\s+$/.test(files.tokenizer.decode([token])))
    .map((token) => [token, -100]),
)

const counts = { equal: 0, explained: 0, refused: 0, different: 0 }
await setup()
const cluster = await startEngineCluster({
  engines: [engine],
  models: models.map(({ id, family, template }) => ({ id, family, folder, template })),
})
try {
  const { apiKey } = await cluster.createAccount('1000000')
  const served = await readServedModel(http)
  for (const { id, name, family, source, template } of models) {
    const { effort, toolCalls } = await readFamily('models', family)
    const millrace = openChatServer({
      baseUrl: cluster.baseUrl,
      apiKey,
      body: { model: id, logit_bias: withoutBlanks },
    })
    const vllm = openChatServer({
      baseUrl: http,
      body: {
        model: served,
        chat_template_kwargs: effort.off,
        ...(template !== undefined && { chat_template: source }),
      },
    })
    const fitter = openFitter({ ...files.template, source, toolSource: null }, toolCalls)
    console.log(`${name} (${family})`)
    for (const change of describeShapes(fitter.shapes).changed) console.log(`  changed: ${change}`)
    const { tools } = fitter.shapes
    if (!tools) console.log('  it prints no tools: the conversations offer none')
    for (const asked of await leadConversations(millrace.ask, { tools }))
      await compare(asked, { millrace, vllm, fitter })
  }
} finally {
  await cluster.stop()
  await teardown()
}
console.log(
  `${counts.equal} prompts equal, ${counts.explained} whose difference is explained, ` +
    `${counts.refused} refused by vLLM, ${counts.different} different`,
)
process.exitCode = counts.different === 0 && counts.equal > 0 ? 0 : 1

async function compare(
  { name, request, answer }: Asked,
  { millrace, vllm, fitter }: { millrace: ChatServer; vllm: ChatServer; fitter: Fitter },
): Promise<void> {
  const plain = await vllm.ask(request)
  console.log(`  ${name.padEnd(28)} Millrace ${describe(answer).padEnd(22)} vLLM ${describe(plain)}`)
  if (samePrompt(answer, plain)) {
    counts.equal += 1
    return
  }
  const fitted = await vllm.ask({ ...request, messages: fitter.fit(request) })
  console.log(`    with the messages as Millrace changes them for the template: vLLM ${describe(fitted)}`)
  if (samePrompt(answer, fitted)) {
    counts.explained += 1
    return
  }
  if (fitted.status === 'refused') {
    counts.refused += 1
    return
  }
  // For arguments that are no JSON object, vLLM gives the template an empty object. Millrace gives it the model's text.
  const emptied = await millrace.ask({ ...request, messages: request.messages.map(withoutCutArguments) })
  console.log(`    with {} in place of the arguments that are no JSON object: Millrace ${describe(emptied)}`)
  if (samePrompt(emptied, fitted)) counts.explained += 1
  else counts.different += 1
}

function withoutCutArguments(message: ChatMessage): ChatMessage {
  if (message.role !== 'assistant') return message
  const toolCalls = message.toolCalls.map((call) =>
    isJson(call.arguments) ? call : { ...call, arguments: '{}' },
  )
  return { ...message, toolCalls }
}

function samePrompt(a: Answer, b: Answer): boolean {
  return a.status === 'answered' && b.status === 'answered' && a.promptTokens === b.promptTokens
}

function describe(answer: Answer): string {
  if (answer.status === 'refused') return `refused (${answer.reason})`
  const calls = answer.calls.map(({ arguments: text }) => (isJson(text) ? 'call' : 'cut call'))
  return [answer.promptTokens, answer.finish, ...calls].join(' ')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function readServedModel(baseUrl: string): Promise<string> {
  const response = await fetch(`${baseUrl}/models`)
  const list: { data: { id: string }[] } = JSON.parse(await response.text())
  const [model] = list.data
  if (model === undefined) throw new Error(`${baseUrl} serves no model`)
  return model.id
}
