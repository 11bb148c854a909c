/** Makes the data files of src/numbers/catalogue from the data packages: `node_modules/.bin/node scripts/catalogue/build.ts`.
 *  The same packages give the same files, on every machine. */
import { writeFileSync } from 'node:fs'
import { makeCatalogue } from './make.ts'

const folder = new URL('../../src/numbers/catalogue/', import.meta.url)

for (const [name, rows] of Object.entries(makeCatalogue())) {
  const text = `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`
  writeFileSync(new URL(`${name}.json`, folder), text)
  console.log(`${name}: ${rows.length} rows, ${Math.round(text.length / 1024)} KiB`)
}
