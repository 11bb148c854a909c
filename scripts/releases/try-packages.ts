import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { run } from './releases.ts'
import type { StartedPlatform } from './started-platform.ts'

// Tries the packages as a new user would, in folders that have the tarballs alone.

/** Programs of others that try them, installed when they are needed. The versions were tried. */
const tools = {
  publint: '0.3.25',
  '@arethetypeswrong/cli': '0.18.5',
  bun: '1.4.5',
  deno: '2.9.6',
  typescript: '5.9.3',
  '@types/node': '20.19.43',
}

/** Installs packages into a new folder as a user does. @param packages tarballs, or names with a version */
export const install = (folder: string, packages: readonly string[]): void => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "name": "installation", "version": "1.0.0", "private": true }\n')
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts=false', ...packages], folder)
}

export const installTools = (folder: string): void =>
  install(
    folder,
    Object.entries(tools).map(([name, version]) => `${name}@${version}`),
  )

/** A program of the tools. */
const programOf = (toolFolder: string, name: string): string => join(toolFolder, 'node_modules/.bin', name)

/** Checks what is published: `publint`, and the types of each way to import it. */
export const checkPackage = (toolFolder: string, tarball: string): void => {
  run(programOf(toolFolder, 'publint'), ['run', tarball, '--strict'], toolFolder)
  // A program has nothing to import, and `voice.js` is a script for pages, which defines a global name.
  if (/\/trunkline-\d/.test(tarball)) return
  run(programOf(toolFolder, 'attw'), [tarball, '--format', 'ascii', '--exclude-entrypoints', 'voice.js'], toolFolder)
}

/** A program of the client that buys a number and sends the first text, until its receipt. */
const firstText = `import { Trunkline } from '@trunkline/client'

const trunkline = new Trunkline()
const { purchased: [from_number] } = await trunkline.numbers.purchase({ group_id: 'GB-mobile-74-united-kingdom' })
const { message_uuid } = await trunkline.sms.send({ from_number, to_number: '+447700900123', text: 'From the package' })
for (;;) {
  const { message } = await trunkline.sms.get({ message_uuid })
  if (message.status === 'delivered') break
  await new Promise((resolve) => setTimeout(resolve, 200))
}
console.log('delivered')
`

/** The examples of a README in a language, in order. */
const examplesOf = (readme: string, language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code)

/** Turns an ES module into CommonJS as a person would. */
const commonJs = (code: string): string => {
  const imports = [...code.matchAll(/^import (\{.*?\}) from '(.*?)'$/gm)]
  const body = code.replaceAll(/^import .*$/gm, '')
  const required = imports.map(([, names = '', from]) => `const ${names.replaceAll(' as ', ': ')} = require('${from}')`)
  return `${required.join('\n')}\nvoid (async () => {\n${body}\n})()\n`
}

const compilers = [
  { module: 'node16', moduleResolution: 'node16', extensions: ['mts', 'cts'] },
  { module: 'esnext', moduleResolution: 'bundler', extensions: ['mts'] },
] as const

/** Compiles the examples of the client and of the SDK in each way in which a project may be set up. */
export const compileExamples = (toolFolder: string, folder: string, root: string): number => {
  const client = examplesOf(readFileSync(join(root, 'packages/client/README.md'), 'utf8'), 'ts')
  const device = `import { type Call, Device, VoiceError } from '@trunkline/voice-sdk'
export const dial = (token: string): Promise<Call> => new Device({ token }).connect({ to: '+442079460018' })
export const isDenied = (error: unknown): boolean => error instanceof VoiceError && error.code === 'MEDIA_DENIED'
`
  // CommonJS has no await outside of functions.
  const asFunction = (code: string) => {
    const imports = code.match(/^import .*$/gm) ?? []
    return `${imports.join('\n')}\nexport const example = async () => {\n${code.replaceAll(/^import .*$/gm, '')}\n}\n`
  }
  const flags = [
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--target',
    'es2022',
    '--skipLibCheck',
    'false',
  ]
  const more = [
    '--lib',
    'esnext,dom,dom.iterable',
    '--types',
    'node',
    '--typeRoots',
    join(toolFolder, 'node_modules/@types'),
  ]
  let count = 0
  for (const { module, moduleResolution, extensions } of compilers)
    for (const extension of extensions) {
      const files = [...client, device].map((code, i) => {
        const file = `example-${moduleResolution}-${i}.${extension}`
        writeFileSync(join(folder, file), extension === 'cts' && i < client.length ? asFunction(code) : code)
        return file
      })
      const args = [...flags, '--module', module, '--moduleResolution', moduleResolution, ...more, ...files]
      run(programOf(toolFolder, 'tsc'), args, folder)
      count += files.length
    }
  return count
}

/** Runs the first example of the client's README and the first text on each runtime and in both formats. */
export const runExamples = (
  toolFolder: string,
  folder: string,
  root: string,
  { url, key }: StartedPlatform,
): readonly string[] => {
  const [readme = ''] = examplesOf(readFileSync(join(root, 'packages/client/README.md'), 'utf8'), 'ts')
  const example = stripTypeScriptTypes(readme)
  const files = {
    'readme.mjs': example,
    'readme.cjs': commonJs(example),
    'text.mjs': firstText,
    'text.cjs': commonJs(firstText),
  }
  for (const [file, code] of Object.entries(files)) writeFileSync(join(folder, file), code)
  const env = { TRUNKLINE_URL: url, TRUNKLINE_API_KEY: key }
  const runtimes: readonly (readonly [name: string, program: string, args: readonly string[]])[] = [
    ['the Node of this machine', process.env.npm_node_execpath ?? 'node', []],
    ['the pinned Node', process.execPath, []],
    ['Bun', programOf(toolFolder, 'bun'), ['run']],
    ['Deno', programOf(toolFolder, 'deno'), ['run', '--allow-net', '--allow-env', '--allow-read']],
  ]
  const tried: string[] = []
  for (const [name, program, args] of runtimes)
    for (const file of Object.keys(files)) {
      const output = run(program, [...args, file], folder, env)
      if (!/Ada|delivered/.test(output)) throw new Error(`${file} on ${name} printed: ${output}`)
      tried.push(`${file} on ${name}`)
    }
  return tried
}
