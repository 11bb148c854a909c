import { Readable } from 'node:stream'
import { readCsv } from '../../src/domains/contacts/files/contact-csv.ts'
import { parsePrices } from '../../src/domains/numbers/pricing/price-file.ts'
import { linesOf, maxColumns, UnreadableCsv } from '../../src/platform/lib/csv.ts'
import { readText } from '../../src/platform/lib/text-encoding.ts'

export const isOwn = (error: unknown, ...kinds: (new (...given: never[]) => Error)[]): boolean =>
  kinds.some((kind) => error instanceof kind)

/** Makes a reader of whole files from one of streams. It returns whether anything was read. */
export const fromStream = (read: (body: Readable) => AsyncIterable<unknown>) => async (input: Buffer) => {
  let count = 0
  try {
    const cut = input.length >> 1
    for await (const _ of read(Readable.from([input.subarray(0, cut), input.subarray(cut)]))) count++
    return count > 0
  } catch (error) {
    if (!isOwn(error, UnreadableCsv)) throw error
    return false
  }
}

export const csvReaders = {
  'CSV of contacts': fromStream((body) => readCsv(readText(body), { ignored: new Set() }, { country: 'GB' })),
  'CSV of numbers': fromStream((body) => linesOf(readText(body))),
  'CSV of prices': async (input: Buffer) => {
    try {
      return (await parsePrices(input.toString())).prices.length > 0
    } catch (error) {
      if (!isOwn(error, UnreadableCsv)) throw error
      return false
    }
  },
} as const

/** Files of 64 KiB that once held the event loop, or that come close to a limit. */
export const csvShapes: readonly (readonly [shape: string, text: string])[] = [
  ['lines that are shorter than the head', `first_name,last_name,phone,email,address${'\r\nA'.repeat(21_000)}`],
  ['lines of one letter', `first_name,last_name,phone,email,addres${'s\r'.repeat(32_000)}`],
  ['empty lines', `first_name,phone\n${'\n'.repeat(64_000)}`],
  ['a head of commas', `first_name,phone${','.repeat(60_000)}\nA\n`],
  ['a head of phones', `first_name${',phone'.repeat(10_000)}\nA\n`],
  ['a line of commas', `first_name,phone\nA${','.repeat(60_000)}\n`],
  ['all the columns, and lines of one letter', `first_name${',phone'.repeat(maxColumns - 1)}\n${'A\n'.repeat(2_000)}`],
  [
    'as many national numbers as columns',
    `first_name${',phone'.repeat(maxColumns - 1)}\nA${',07700 900123'.repeat(999)}\n`,
  ],
]
