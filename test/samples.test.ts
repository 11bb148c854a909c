import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { Type } from 'typebox'
import { contracts } from '../src/contracts.ts'
import { type SampleLanguage, sampleLanguages, samplesOf } from '../src/interfaces/site/samples.ts'
import { compile } from './compiler.ts'
import { fullForm, isFullForm, needs } from './needs.ts'
import { apiKey, buyNumber, operatorKey, type Platform, startPlatform } from './platform.ts'
import { temporaryFolder } from './servers.ts'

// The samples of the reference: all are read by the program of their language, and some of each kind are run.

const root = join(import.meta.dirname, '..')
const client = join(root, 'packages/client/src')
const endings: Readonly<Record<SampleLanguage, string>> = { curl: 'sh', TypeScript: 'ts', Python: 'py', PHP: 'php' }
const folder = temporaryFolder()
for (const language of sampleLanguages) mkdirSync(join(folder, language))
for (const contract of contracts)
  for (const [language, text] of Object.entries(samplesOf(contract)))
    writeFileSync(join(folder, language, `${contract.id}.${endings[language as SampleLanguage]}`), `${text}\n`)

/** Runs a program on the folder of a language. */
const check = (language: SampleLanguage, program: string, args: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: join(folder, language), encoding: 'utf8' })
  assert.equal(status, 0, stdout + stderr)
  return stdout
}

test('every operation has a sample in each language, which names its path and its credential', () => {
  const variables = { account: 'TRUNKLINE_API_KEY', operator: 'TRUNKLINE_OPERATOR_KEY' } as const
  for (const contract of contracts) {
    const { curl, Python, PHP, TypeScript } = samplesOf(contract)
    const [path = ''] = contract.url.split(':')
    for (const text of [curl, Python, PHP]) {
      assert.ok(text.includes(path), contract.id)
      assert.ok(/TRUNKLINE_URL/.test(text), contract.id)
      if (contract.auth === 'account' || contract.auth === 'operator')
        assert.ok(text.includes(variables[contract.auth]), contract.id)
    }
    assert.ok(TypeScript.includes((contract.client ?? contract.method === 'GET') ? '' : path), contract.id)
  }
})

test('samples in curl are shell commands', () => {
  check('curl', 'bash', ['-c', 'for one in *.sh; do bash -n "$one" || exit 1; done'])
})

test('samples in Python compile', needs('python3'), () => {
  check('Python', 'python3', [
    '-c',
    'import glob\nfor one in glob.glob("*.py"): compile(open(one).read(), one, "exec")',
  ])
})

test('samples in PHP are parsed', needs('php'), () => {
  const code = 'foreach (glob("*.php") as $one) { token_get_all(file_get_contents($one), TOKEN_PARSE); echo "."; }'
  assert.equal(check('PHP', 'php', ['-r', code]).length, contracts.length)
})

test('samples in TypeScript have the types of the client', fullForm('a compiler on all samples'), () => {
  const at = join(folder, 'TypeScript')
  const paths = {
    '@trunkline/client': [join(client, 'index.ts')],
    '@trunkline/client/sandbox': [join(client, 'sandbox.ts')],
    '@trunkline/client/operator': [join(client, 'operator.ts')],
  }
  const compilerOptions = {
    ...{ module: 'preserve', moduleResolution: 'bundler', target: 'esnext', lib: ['esnext', 'dom'] },
    ...{ noEmit: true, strict: true, exactOptionalPropertyTypes: true, allowImportingTsExtensions: true },
    // Samples without an import are modules, too.
    ...{ moduleDetection: 'force', types: ['node'], typeRoots: [join(root, 'node_modules/@types')], paths },
  }
  writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const { status, stdout } = compile(['-p', '.'], at)
  assert.equal(status, 0, stdout)
})

let platform: Platform
let own: { number: string; channel: string }
before(async () => {
  platform = await startPlatform()
  own = await buyNumber(platform)
})
after(() => platform?.end('SIGKILL'))

const programs: Readonly<Record<SampleLanguage, readonly [program: string, file: string]>> = {
  curl: ['bash', 'run.sh'],
  TypeScript: [process.execPath, 'run.mts'],
  Python: ['python3', 'run.py'],
  PHP: ['php', 'run.php'],
}

/** Each with the words that its answer must contain. */
const runs: readonly (readonly [id: string, answer: RegExp])[] = [
  ['getInfo', /requests_per_minute/],
  ['sendSms', /MSG[0-9a-f-]{36}|message_uuid/],
  ['listSmsMessages', /Hello from Trunkline/],
  ['createEndpoint', /whsec_/],
  ['createContact', /Lovelace/],
  ['listContacts', /Lovelace/],
  ['listAccounts', /accounts/],
]

/** Replaces the numbers and addresses of the examples by those of this installation. */
const mapped = (text: string, n: number): string =>
  text
    .replaceAll('+447400123456', own.number)
    .replaceAll(/https:\/\/[\w.]*example\.com[\w/.-]*/g, `http://127.0.0.1:1024/samples/${n}`)
    .replaceAll(/'@trunkline\/client(?:\/(\w+))?'/g, (_, name: string = 'index') => `'${join(client, `${name}.ts`)}'`)

const further = fullForm('further languages')

/** The fast form runs the samples in curl. */
const optionsOf: Readonly<Record<SampleLanguage, { skip: false | string }>> = {
  curl: needs('curl'),
  TypeScript: further,
  Python: isFullForm ? needs('python3') : further,
  PHP: isFullForm ? needs('php') : further,
}

const run = (language: SampleLanguage, text: string, url = platform.url): Promise<string> => {
  const [program, file] = programs[language]
  const at = temporaryFolder()
  writeFileSync(join(at, file), text)
  const keys = { TRUNKLINE_API_KEY: apiKey, TRUNKLINE_OPERATOR_KEY: operatorKey }
  const env = { ...process.env, TRUNKLINE_URL: url, ...keys }
  const { promise, resolve } = Promise.withResolvers<string>()
  execFile(program, [file], { cwd: at, env }, (error, stdout, stderr) =>
    resolve(`${stdout}${error === null ? '' : stderr}`),
  )
  return promise
}

for (const [n, language] of sampleLanguages.entries())
  test(`samples in ${language} send, list and create on a started platform`, optionsOf[language], async () => {
    for (const [id, answer] of runs) {
      const contract = contracts.find((one) => one.id === id)
      assert.ok(contract, `there is no ${id}`)
      assert.match(await run(language, mapped(samplesOf(contract)[language], n)), answer, `${language} ${id}`)
    }
  })

/** Signs that quotes, escapes and variables of a language could change. */
const hostile = {
  text: `it's "quoted" \\ \\n $HOME \`id\` {$x} %41 @file\n\ttwo lines 🎉`,
  values: [true, false, null, 1.5, [], {}],
  'a key': { "it's": 'nested in several lines, as it is longer than one line may be' },
}

for (const language of sampleLanguages)
  test(`samples in ${language} send each sign as it is`, optionsOf[language], async () => {
    const received: unknown[] = []
    const server = createServer(async (request, response) => {
      received.push(await json(request))
      response.setHeader('content-type', 'application/json').end('{"success":true}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // a TCP server
    const sendSms = contracts.find(({ id }) => id === 'sendSms')
    assert.ok(sendSms)
    const { [language]: text } = samplesOf({ ...sendSms, body: Type.Object({}, { examples: [hostile] }) })
    const printed = await run(language, mapped(text, 0), `http://127.0.0.1:${port}`)
    server.close()
    assert.deepEqual(received, [hostile], printed)
  })
