// `npm run test:templates` runs this program. It compares our prompts with the prompts that transformers rendered from
// the same templates.
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { probeShapes } from '#libs/chat-template/chat-renderer.ts'
import { describeShapes } from '#libs/chat-template/shape/describe-shapes.ts'
import { guessFamily } from '#libs/dialect/guess-family.ts'
import { openCallWriter } from '#libs/dialect/write-calls.ts'
import { ChatReference, checkChats, type ChatDifference } from '#libs/model-files/check-chats.ts'
import { readFamily } from '#libs/model-files/load-model.ts'
import { readModelFolder } from '#libs/model-files/model-files.ts'
import { createModel, type Model } from '#libs/model-files/model.ts'
import { fitConversations } from './fit-conversations.ts'
import { readBack } from './read-back.ts'

/** The number of random conversations for each template. */
const CONVERSATIONS = 1_000

/**
 * A tokenizer that keeps every character. The tokenizer of the references cannot be used: it decodes `▁` as a blank.
 */
const tiny = await createModel(await readModelFolder('models/tiny'))
const [folder = '', model = '', references = ''] = process.argv.slice(2)
const compared = await createModel(await readModelFolder(model))
const names = readdirSync(references).toSorted((a, b) => (a < b ? -1 : 1))
let differing = 0
let losing = 0
for (const name of names) {
  const template = `${basename(name, '.json')}.jinja`
  const source = readFileSync(join(folder, template), 'utf8')
  const reference = ChatReference.parse(JSON.parse(readFileSync(join(references, name), 'utf8')))
  const differences = await findDifferences(withSource(compared, source), reference)
  const [first] = differences
  if (first !== undefined) differing += 1
  const count = reference.cases.length
  const family = guessFamily({ modelType: '', chatTemplate: source })?.family ?? null
  const calls = family === null ? 'no family' : `${family}, ${await describeCalls(source, family)}`
  console.log(`${template}: ${count - differences.length} of ${count} equal, ${calls}`)
  if (first !== undefined) console.log(`  ${first.name} ${JSON.stringify(first.switches)}: ${first.problem}`)
  if (await losesText(template, source, family)) losing += 1
}
console.log(
  `${names.length} templates, ${differing} with differences, ${losing} that lose a part of a conversation`,
)
process.exitCode = differing + losing === 0 && names.length > 0 ? 0 : 1

/**
 * Prints which parts of random conversations the template refuses or loses, and what Millrace changes for the template.
 */
async function losesText(name: string, source: string, family: string | null): Promise<boolean> {
  const { toolCalls, callIds } = await readFamily('models', family ?? 'hermes')
  const { template } = withSource(compared, source)
  try {
    const { refused, changed } = describeShapes(
      probeShapes(template, { writeCalls: openCallWriter(toolCalls) }),
    )
    for (const what of refused) console.log(`  cannot print ${what}`)
    for (const what of changed) console.log(`  ${what}`)
    const fitted = fitConversations(template, { name, rounds: CONVERSATIONS }, { toolCalls, callIds })
    console.log(`  ${fitted.whole} of ${CONVERSATIONS} random conversations whole`)
    for (const [reason, count] of fitted.refused) console.log(`  ${count} refused: ${reason}`)
    if (fitted.loss !== null) console.log(`  LOST: ${fitted.loss}`)
    return fitted.loss !== null
  } catch (error) {
    console.log(`  ${error instanceof Error ? error.message : String(error)}`)
    return false
  }
}

function withSource(of: Model, source: string): Model {
  return { ...of, template: { ...of.template, source, toolSource: null } }
}

async function describeCalls(source: string, family: string): Promise<string> {
  try {
    const read = await readBack(withSource(tiny, source), await readFamily('models', family))
    return read === null ? 'its call is read back' : `its call is read as ${JSON.stringify(read)}`
  } catch (error) {
    return `its call is not written: ${error instanceof Error ? error.message : String(error)}`
  }
}

/** Returns the differences. A template that cannot be parsed differs in every case that transformers renders. */
async function findDifferences(of: Model, reference: ChatReference): Promise<ChatDifference[]> {
  try {
    return await checkChats(of, reference)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    const rendered = reference.cases.filter(({ refused }) => refused === undefined)
    return rendered.map(({ name, switches }) => ({ name, switches, problem }))
  }
}
