import { anchorOf } from './reference.ts'
import { asJson, asList, asText, isJson, type Json } from './schema-html.ts'

/** An entry of the search: a section of a guide, an operation, an event or an error code. */
export type SearchEntry = readonly [
  url: string,
  title: string,
  page: string,
  group: string,
  /** Further words, such as names of fields. */
  words: string,
  text: string,
]

const named = new Map([
  ['&amp;', '&'],
  ['&lt;', '<'],
  ['&gt;', '>'],
  ['&quot;', '"'],
  ['&#39;', "'"],
])

/** Returns the text of a page without its code, on one line. */
const plain = (html: string): string =>
  html
    .replace(/<div class="code">[\s\S]*?<\/div>/g, ' ')
    .replace(/<\/(?:t[dh]|tr|p|li|h\d)>/g, ' ')
    .replace(/<[^>]+>/g, '')
    .replace(/&(?:amp|lt|gt|quot|#39);/g, (sign) => named.get(sign) ?? sign)
    .replace(/\s+/g, ' ')
    .trim()

const errorRow = /<tr id="([a-z_0-9]+)"><td>.*?<\/td><td>(.*?)<\/td>/g

/** Returns an entry for each section of a page, and for each error code that it explains. */
export const pageEntries = (url: string, page: string, group: string, html: string): SearchEntry[] => {
  const errors = url === '/docs/errors' ? [...html.matchAll(errorRow)] : []
  const sections = html.split(/(?=<h[1-4] id=")/).flatMap((part): SearchEntry[] => {
    const [, depth, id = '', heading = '', rest = ''] = /^<h(\d) id="([^"]*)">(.*?)<\/h\d>([\s\S]*)$/.exec(part) ?? []
    if (depth === undefined) return []
    const text = errors.length > 0 ? plain(rest.replace(/<table>[\s\S]*?<\/table>/g, '')) : plain(rest)
    return [[depth === '1' ? url : `${url}#${id}`, plain(heading), page, group, '', text]]
  })
  const codes = errors.map(([, code = '', about = '']): SearchEntry => {
    return [`${url}#${code}`, code, page, 'Errors', code.replaceAll('_', ' '), plain(about)]
  })
  return [...sections, ...codes]
}

/** Names of the fields of a body or of parameters. */
const fieldsOf = (node: Json): string[] => {
  const schemas = Object.values(asJson(asJson(node.requestBody).content)).map((media) => asJson(asJson(media).schema))
  const fields = schemas.flatMap(({ properties }) => Object.keys(asJson(properties)))
  return [...fields, ...asList(node.parameters).map((one) => asText(asJson(one).name))]
}

/** Returns an entry for each operation and each event of an OpenAPI document. */
export const operationEntries = ({ paths, webhooks }: Json): SearchEntry[] => {
  const operations = Object.entries(asJson(paths)).flatMap(([path, item]) =>
    Object.entries(asJson(item)).flatMap(([method, node]): SearchEntry[] => {
      if (!isJson(node)) return []
      const tag = asText(asList(node.tags)[0])
      const id = asText(node.operationId)
      const words = [method, path, id, ...fieldsOf(node)].join(' ')
      const text = `${method.toUpperCase()} ${path}. ${asText(node.description).split('\n')[0] ?? ''}`
      return [[`/docs#${anchorOf(tag, id)}`, asText(node.summary), tag, 'API', words, text]]
    }),
  )
  const events = Object.entries(asJson(webhooks)).map(([name, item]): SearchEntry => {
    const { summary, description } = asJson(asJson(item).post)
    const text = asText(description) || asText(summary)
    return [`/docs#${anchorOf('webhooks', name)}`, name, 'Events', 'Events', name.replaceAll('.', ' '), text]
  })
  return [...operations, ...events]
}
