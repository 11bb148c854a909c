import type { Contract } from '../../platform/http/endpoint.ts'
import { exampleOf, properties, requestExample, required } from '../../platform/http/openapi.ts'
import { notations, writeValue } from './sample-values.ts'

// The request of an operation in four languages, made of its contract: method, path, credential and example values. Each
// sample reads the address and the key from the environment variables that @trunkline/client reads. Python and PHP need
// nothing that Debian's python3 and php-cli do not have.

export const sampleLanguages = ['curl', 'TypeScript', 'Python', 'PHP'] as const

export type SampleLanguage = (typeof sampleLanguages)[number]

export type Samples = Readonly<Record<SampleLanguage, string>>

/** A header whose value is text around an environment variable. */
type Credential = { readonly header: string; readonly before: string; readonly variable: string }

type SampleRequest = {
  readonly contract: Contract
  readonly path: string
  readonly credential: Credential | null
  /** Headers with a fixed value. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly json: unknown
  /** Name of the uploaded file. */
  readonly upload: string | null
  /** Name of the file that the answer is stored in. */
  readonly download: string | null
}

const credentials: Readonly<Record<Contract['auth'], Credential | null>> = {
  account: { header: 'X-User-API-Key', before: '', variable: 'TRUNKLINE_API_KEY' },
  operator: { header: 'X-Operator-Key', before: '', variable: 'TRUNKLINE_OPERATOR_KEY' },
  session: { header: 'Cookie', before: '__Host-trunkline=', variable: 'TRUNKLINE_SESSION' },
  voice: { header: 'Authorization', before: 'Bearer ', variable: 'TRUNKLINE_VOICE_TOKEN' },
  none: null,
}

const mediaOf = (schema: unknown): string | null => {
  const { contentMediaType } = Object(schema)
  return typeof contentMediaType === 'string' ? contentMediaType : null
}

const fileNameOf = (media: string): string => `file.${media.replace(/^.*\//, '').replace('jpeg', 'jpg')}`

const requiredExamples = (schema: Contract['query']): [string, unknown][] =>
  properties(schema)
    .filter(([name]) => required(schema).includes(name))
    .map(([name, property]) => [name, exampleOf(property)])

const pathOf = ({ url, params, query }: Contract): string => {
  const examples = new Map(properties(params).map(([name, schema]) => [name, String(exampleOf(schema))]))
  const path = url.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(examples.get(name) ?? name))
  const search = requiredExamples(query).map(([name, value]): [string, string] => [name, String(value)])
  return search.length > 0 ? `${path}?${new URLSearchParams(search)}` : path
}

/** A number of the account, as those who send by it see it. Other numbers have the example of their schema. */
const ownNumber = '+447400123456'

const jsonOf = (body: NonNullable<Contract['body']>): unknown => {
  const example = requestExample(body)
  const isSent = properties(body).some(([name]) => name === 'from_number')
  return isSent ? { ...Object(example), from_number: ownNumber } : example
}

const requestOf = (contract: Contract): SampleRequest => {
  const { auth, body, media, reply } = contract
  const bodyMedia = mediaOf(body) ?? media?.[0] ?? null
  const replyMedia = mediaOf(reply)
  const type = body ? (bodyMedia ?? 'application/json') : null
  return {
    contract,
    path: pathOf(contract),
    credential: credentials[auth],
    headers: [
      ...(auth === 'session' ? ([['X-Trunkline-Console', '1']] as const) : []),
      ...(type === null ? [] : ([['Content-Type', type]] as const)),
    ],
    json: body && bodyMedia === null ? jsonOf(body) : undefined,
    upload: bodyMedia === null ? null : fileNameOf(bodyMedia),
    download: replyMedia === null ? null : fileNameOf(replyMedia),
  }
}

/** Quotes for a shell. */
const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curlOf = ({ contract, path, credential, headers, json, upload, download }: SampleRequest): string => {
  const hasBody = json !== undefined || upload !== null
  const isImplied = contract.method === (hasBody ? 'POST' : 'GET')
  return [
    `curl ${isImplied ? '' : `-X ${contract.method} `}"$TRUNKLINE_URL${path}"`,
    ...(credential ? [`-H "${credential.header}: ${credential.before}$${credential.variable}"`] : []),
    ...headers.map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(json === undefined ? [] : [`-d ${shellQuote(writeValue(json, notations.JSON, 1))}`]),
    ...(upload === null ? [] : [`--data-binary @${upload}`]),
    ...(download === null ? [] : [`-o ${download}`]),
  ].join(' \\\n  ')
}

const entryPointOf = ({ url }: Contract): readonly [name: string, from: string] => {
  if (url.startsWith('/sandbox/')) return ['Sandbox', '@trunkline/client/sandbox']
  return url.startsWith('/operator/') ? ['Operator', '@trunkline/client/operator'] : ['Trunkline', '@trunkline/client']
}

/** Returns the arguments of a method of the client: the fields of path, query and body in one object. */
const argumentsOf = ({ contract, json, upload }: SampleRequest): string => {
  const fields = {
    ...Object.fromEntries(properties(contract.params).map(([name, schema]) => [name, exampleOf(schema)])),
    ...Object.fromEntries(requiredExamples(contract.query)),
    ...Object(json),
  }
  const file = upload === null ? {} : { file: notations.code(`await readFile('${upload}')`) }
  const type = upload === null ? {} : { media_type: mediaOf(contract.body) ?? contract.media?.[0] }
  const all = { ...fields, ...file, ...type }
  return Object.keys(all).length === 0 ? '' : writeValue(all, notations.TypeScript)
}

/** Operations that the client does not have, such as those of the console's own session, are sent by `fetch`. */
const fetchOf = ({ contract, path, credential, headers, json }: SampleRequest): string => {
  const all = Object.fromEntries([
    ...(credential
      ? [[credential.header, notations.code(`\`${credential.before}\${process.env.${credential.variable}}\``)] as const]
      : []),
    ...headers,
  ])
  const options = {
    ...(contract.method === 'GET' ? {} : { method: contract.method }),
    ...(Object.keys(all).length > 0 ? { headers: all } : {}),
    ...(json === undefined
      ? {}
      : { body: notations.code(`JSON.stringify(${writeValue(json, notations.TypeScript, 1)})`) }),
  }
  const argument = Object.keys(options).length > 0 ? `, ${writeValue(options, notations.TypeScript)}` : ''
  return [
    `const response = await fetch(\`\${process.env.TRUNKLINE_URL}${path}\`${argument})`,
    'console.log(await response.json())',
  ].join('\n')
}

const typeScriptOf = (request: SampleRequest): string => {
  const { contract, upload, download } = request
  if (contract.client === undefined) return fetchOf(request)
  const [name, from] = entryPointOf(contract)
  const files = [...(upload === null ? [] : ['readFile']), ...(download === null ? [] : ['writeFile'])]
  const client = name.toLowerCase()
  const call = `await ${client}.${contract.client}(${argumentsOf(request)})`
  return [
    ...(files.length > 0 ? [`import { ${files.join(', ')} } from 'node:fs/promises'`] : []),
    `import { ${name} } from '${from}'`,
    '',
    `const ${client} = new ${name}()`,
    `const answer = ${call}`,
    download === null
      ? 'console.log(answer)'
      : `await writeFile('${download}', new Uint8Array(await answer.arrayBuffer()))`,
  ].join('\n')
}

const pythonOf = ({ contract, path, credential, headers, json, upload, download }: SampleRequest): string => {
  const { Python, code } = notations
  const all = Object.fromEntries([
    ...(credential
      ? [
          [
            credential.header,
            code(`${credential.before === '' ? '' : `"${credential.before}" + `}os.environ["${credential.variable}"]`),
          ] as const,
        ]
      : []),
    ...headers,
  ])
  return [
    `import ${download === null || json !== undefined ? 'json, ' : ''}os, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    os.environ["TRUNKLINE_URL"] + "${path}",`,
    `    method="${contract.method}",`,
    ...(Object.keys(all).length > 0 ? [`    headers=${writeValue(all, Python, 1)},`] : []),
    ...(json === undefined ? [] : [`    data=json.dumps(${writeValue(json, Python, 1)}).encode(),`]),
    ...(upload === null ? [] : [`    data=open("${upload}", "rb").read(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    download === null ? '    print(json.load(response))' : `    open("${download}", "wb").write(response.read())`,
  ].join('\n')
}

const phpOf = ({ contract, path, credential, headers, json, upload, download }: SampleRequest): string => {
  const { PHP, code } = notations
  const lines = [
    ...(credential ? [code(`'${credential.header}: ${credential.before}' . getenv('${credential.variable}')`)] : []),
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ]
  const options = {
    method: contract.method,
    ...(lines.length > 0 ? { header: lines } : {}),
    ...(json === undefined ? {} : { content: code(`json_encode(${writeValue(json, PHP, 1)})`) }),
    ...(upload === null ? {} : { content: code(`file_get_contents('${upload}')`) }),
    ignore_errors: true,
  }
  return [
    '<?php',
    `$context = stream_context_create(['http' => ${writeValue(options, PHP)}]);`,
    `$answer = file_get_contents(getenv('TRUNKLINE_URL') . '${path}', false, $context);`,
    download === null ? 'print_r(json_decode($answer, true));' : `file_put_contents('${download}', $answer);`,
  ].join('\n')
}

/** Returns the samples of an operation. */
export const samplesOf = (contract: Contract): Samples => {
  const request = requestOf(contract)
  return {
    curl: curlOf(request),
    TypeScript: typeScriptOf(request),
    Python: pythonOf(request),
    PHP: phpOf(request),
  }
}
