import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Fields, fieldsOf } from '../doubles/didww/resources.ts'
import { needsData } from '../needs.ts'

/** A request of the provider's own SDK to the provider's sandbox, and the answer. */
export type Interaction = {
  readonly name: string
  readonly method: string
  /** Path below `/v3`, with its query. */
  readonly path: string
  readonly headers: ReadonlyMap<string, string>
  readonly sent: unknown
  readonly status: number
  readonly body: Fields
}

const place = join(import.meta.dirname, '../../../shared/data/didww')
const folder = existsSync(place) ? place : null

/** The options of a test that needs the recordings; where they are missing, the test is reported as skipped. */
export const needsRecordings = needsData(folder, 'the recorded traffic of the provider in ../shared/data/didww')

const quoted = (text: string): unknown => JSON.parse(text.replaceAll("''", "'"))

/** The files are YAML of one fixed form: each relevant value has a line of its own. */
const read = (root: string, file: string): Interaction[] => {
  const whole = readFileSync(join(root, file), 'utf8')
  return whole
    .split(/^- request:$/m)
    .slice(1)
    .map((part) => {
      const line = (form: RegExp) => form.exec(part)?.[1] ?? ''
      const sent = line(/^ {4}body: '(.*)'$/m)
      const headers = part.slice(0, part.indexOf('response:')).matchAll(/^ {6}([\w-]+):\n {6}- (.*)$/gm)
      return {
        name: file.replace('.yaml', ''),
        method: line(/^ {4}method: (\w+)$/m),
        path: line(/^ {4}uri: https:\/\/[^/]+\/v3(\S+)$/m),
        headers: new Map([...headers].map(([, name = '', value = '']) => [name.toLowerCase(), value])),
        sent: sent ? quoted(sent) : null,
        status: Number(line(/^ {6}code: (\d+)$/m)),
        body: fieldsOf(quoted(line(/^ {6}string: '(.*)'$/m) || 'null')),
      }
    })
}

/** Every recorded interaction; empty where the recordings are missing. */
export const interactions: readonly Interaction[] = folder
  ? globSync('*/*.yaml', { cwd: folder })
      .sort()
      .flatMap((file) => read(folder, file))
  : []

/** @throws Error when it was not recorded */
export const recorded = (name: string): Interaction => {
  const found = interactions.find((one) => one.name === name)
  if (!found) throw new Error(`${name} was not recorded`)
  return found
}
