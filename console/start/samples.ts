import { words } from '../words/en/parts.ts'

// A request of the interface as people copy it: for a terminal, and for a program with the typed client.

export type Example = {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: object | undefined
  /** Method of the client, such as `sms.send`. */
  readonly call: string
  /** Its arguments: path, query and body in one object. */
  readonly args: object
  /** True: an operation of the sandbox, which has a client of its own. */
  readonly isSandbox?: boolean
}

const inQuotes = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curlOf = ({ method, path, body }: Example): string =>
  [
    `curl ${method === 'GET' || (method === 'POST' && body) ? '' : `-X ${method} `}'${location.origin}${path}'`,
    `-H "X-User-API-Key: $KEY"`,
    ...(body ? [`-H 'content-type: application/json'`, `-d ${inQuotes(JSON.stringify(body))}`] : []),
  ].join(' \\\n  ')

/** A value as people write it in TypeScript. */
const literal = (value: unknown, indent = ''): string => {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).map(([name, each]) => `${name}: ${literal(each, `${indent}  `)}`)
  const short = `{ ${fields.join(', ')} }`
  if (fields.length < 2) return short
  return `{\n${fields.map((field) => `${indent}  ${field},\n`).join('')}${indent}}`
}

const clientOf = ({ call, args, isSandbox }: Example): string => {
  const [type, name, from] = isSandbox
    ? ['Sandbox', 'sandbox', '@trunkline/client/sandbox']
    : ['Trunkline', 'trunkline', '@trunkline/client']
  return [
    `import { ${type} } from '${from}'`,
    '',
    `const ${name} = new ${type}({ baseUrl: '${location.origin}', apiKey: process.env.KEY })`,
    `const answer = await ${name}.${call}(${literal(args)})`,
    'console.log(answer)',
  ].join('\n')
}

/** The request as `curl` and as code of the client. */
export const samplesOf = (example: Example) => [
  { language: words.code.curl, code: curlOf(example) },
  { language: words.code.client, code: clientOf(example) },
]
