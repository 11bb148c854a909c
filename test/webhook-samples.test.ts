import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from './needs.ts'
import { temporaryFolder } from './servers.ts'

// The samples of docs/webhooks.md that verify a call, run as they stand: each accepts what the platform signs, and
// refuses another body, another secret and an old time.

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/webhooks.md'), 'utf8')
const part = page.slice(page.indexOf('## Verify the signature'), page.indexOf('## Events'))
const sample = (language: string): string => {
  const [, code] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(part) ?? []
  assert.ok(code, `there is no sample in ${language}`)
  return code
}

type Call = { readonly body: string; readonly headers: Record<string, string>; readonly secret: string }

const key = randomBytes(24)
const secret = `whsec_${key.toString('base64')}`
const body = '{"event":"sms.message.received","text":"Grüße 👋"}'

const signed = (timestamp: number): Call => {
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64')
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(timestamp),
    // The first one is of the former secret, during a rotation.
    'webhook-signature': `v1,${randomBytes(32).toString('base64')} v1,${signature}`,
  }
  return { body, headers, secret }
}

const now = Math.floor(Date.now() / 1000)
const good = signed(now)
const calls: readonly (readonly [what: string, isGenuine: boolean, call: Call])[] = [
  ['a call of the platform', true, good],
  ['another body', false, { ...good, body: body.replace('Gr', 'gr') }],
  ['another secret', false, { ...good, secret: `whsec_${randomBytes(24).toString('base64')}` }],
  ['an old time', false, signed(now - 600)],
]

/** Programs around a sample: they read calls as JSON, and print a line of yes and no. */
const languages = [
  {
    language: 'python',
    program: 'python3',
    options: needs('python3'),
    file: 'sample.py',
    args: ['sample.py'],
    around: (code: string) =>
      `${code}\nimport json, sys\nfor call in json.load(sys.stdin):\n    print("yes" if verify(call["body"].encode(), call["headers"], call["secret"]) else "no")\n`,
  },
  {
    language: 'php',
    program: 'php',
    options: needs('php'),
    file: 'sample.php',
    args: ['sample.php'],
    around: (code: string) =>
      `<?php\n${code}\nforeach (json_decode(stream_get_contents(STDIN), true) as $call) {\n    echo verify($call['body'], $call['headers'], $call['secret']) ? "yes\\n" : "no\\n";\n}\n`,
  },
  {
    language: 'ruby',
    program: 'ruby',
    options: needs('ruby'),
    file: 'sample.rb',
    args: ['sample.rb'],
    around: (code: string) =>
      `${code}\nrequire 'json'\nJSON.parse($stdin.read).each { |call| puts verify(call['body'], call['headers'], call['secret']) ? 'yes' : 'no' }\n`,
  },
  {
    language: 'go',
    program: 'go',
    options: needs('go'),
    file: 'sample.go',
    args: ['run', 'sample.go', 'main.go'],
    around: (code: string) => code,
  },
] as const

const goMain = `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var calls []struct {
		Body    string
		Headers map[string]string
		Secret  string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&calls); err != nil {
		panic(err)
	}
	for _, call := range calls {
		headers := http.Header{}
		for name, value := range call.Headers {
			headers.Set(name, value)
		}
		if Verify([]byte(call.Body), headers, call.Secret) {
			fmt.Println("yes")
		} else {
			fmt.Println("no")
		}
	}
}
`

for (const { language, program, options, file, args, around } of languages)
  test(`the sample in ${language} verifies calls`, options, () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, file), around(sample(language)))
    writeFileSync(join(folder, 'main.go'), goMain)
    const input = JSON.stringify(calls.map(([, , call]) => call))
    const env = { ...process.env, GOCACHE: join(folder, 'cache'), GOFLAGS: '-mod=mod', HOME: folder }
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: folder, input, encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    const verdicts = stdout.trim().split('\n')
    for (const [i, [what, isGenuine]] of calls.entries()) assert.equal(verdicts[i], isGenuine ? 'yes' : 'no', what)
  })

test('the sample in TypeScript verifies calls', async () => {
  // Within the checkout, so that it finds the client.
  const folder = temporaryFolder()
  const path = join(folder, 'sample.ts')
  writeFileSync(path, sample('ts').replace("'@trunkline/client'", `'${join(root, 'packages/client/src/index.ts')}'`))
  const { receive }: { receive(body: string, headers: object, secret: string): Promise<string> } = await import(path)
  for (const [what, isGenuine, { body: given, headers, secret: own }] of calls) {
    const received = receive(given, headers, own).catch(() => 'refused')
    assert.equal(await received, isGenuine ? 'sms.message.received' : 'refused', what)
  }
})

test('the signature by hand is that of the platform', needs('openssl'), () => {
  const timestamp = String(now)
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', `${sample('sh')}\nsignature "$@"`, 'sh', secret, 'msg_1', timestamp],
    {
      input: body,
      encoding: 'utf8',
    },
  )
  assert.equal(status, 0, stderr)
  assert.ok(good.headers['webhook-signature']?.endsWith(` v1,${stdout.trim()}`), stdout)
})
