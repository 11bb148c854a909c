/**
 * Generates the data files of src/domains/numbers/catalogue from the data packages: `node_modules/.bin/node
 * scripts/catalogue/build.ts`. The output depends on the package versions only.
 */
import { writeFileSync } from 'node:fs'
import { makeCatalogue } from './make-catalogue.ts'

const folder = new URL('../../src/domains/numbers/catalogue/', import.meta.url)

for (const [name, rows] of Object.entries(makeCatalogue())) {
  const text = `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`
  writeFileSync(new URL(`${name}.json`, folder), text)
  console.log(`${name}: ${rows.length} rows, ${Math.round(text.length / 1024)} KiB`)
}
