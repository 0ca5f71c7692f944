import { readFileSync } from 'node:fs'
import { CatalogFile } from '#libs/contracts/model-spec.ts'

/** Returns a model's prices in the demo catalog. */
export function demoPrices(id: string) {
  const catalog = CatalogFile.parse(JSON.parse(readFileSync('deploy/catalog.demo.json', 'utf8')))
  const model = catalog.models.find((spec) => spec.id === id)
  if (model === undefined) throw new Error(`the demo catalog has no ${id}`)
  return {
    inputPriceNano: BigInt(model.inputPriceNano),
    cachedInputPriceNano: BigInt(model.cachedInputPriceNano),
    outputPriceNano: BigInt(model.outputPriceNano),
  }
}
