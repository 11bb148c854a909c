import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../config.ts'
import { contracts } from '../../contracts.ts'
import { makeShell } from './testing.ts'

const shell = (answers: string[], prompts: string[] = []) =>
  makeShell(
    contracts,
    {
      local: {
        settings: () => readConfig({ TRUNKLINE_HOME: '/nonexistent/home' }),
        promptHidden: async (question) => {
          prompts.push(question)
          return answers.shift() ?? ''
        },
        output: null,
      },
    },
    { 'passphrase.txt': 'a passphrase of a file\nand more' },
  )

test('help lists the commands of the installation, and explains each of them', async () => {
  const { out } = await shell([])('--help')
  for (const name of ['backup ', 'backup verify', 'backup show', 'backup tar', 'restore ', 'master-key rotate'])
    assert.ok(out.includes(`\n  ${name}`), name)
  const help = await shell([])('master-key', 'rotate', '--help')
  assert.equal(help.status, 0)
  assert.match(help.out, /Every process of the platform\s+must be stopped.*--new-key-file FILE/s)
  assert.match((await shell([])('backup', '--help')).out, /--passphrase-file FILE.*TRUNKLINE_BACKUP_PASSPHRASE/s)
})

test('a backup without a file, with an unknown option or with an unexpected argument is a usage error', async () => {
  for (const [args, error] of [
    [['backup'], /which FILE\?/],
    [['backup', 'verify'], /which FILE\?/],
    [['backup', 'a', 'b'], /"b" is an unexpected argument/],
    [['restore', 'a', '--replce'], /did you mean --replace\?/],
    [['backp', 'a'], /did you mean "backup"\?/],
    [['backup', 'tar', 'a'], /not for a terminal/],
  ] as const) {
    const { status, err } = await shell(['a long passphrase'])(...args)
    assert.deepEqual([status, error.test(err)], [2, true], `${args.join(' ')}: ${err}`)
  }
})

test('a new passphrase is prompted for twice, an old one once, and one from a file never', async () => {
  const prompts: string[] = []
  const differing = await shell(['a long passphrase', 'another passphrase'], prompts)('backup', '/nonexistent/a.backup')
  assert.deepEqual([differing.status, /the two passphrases differ/.test(differing.err), prompts.length], [2, true, 2])
  const missing = await shell(['a long passphrase'], prompts)('backup', 'show', '/nonexistent/a.backup')
  assert.deepEqual([missing.status, /cannot be read/.test(missing.err), prompts.length], [1, true, 3])
  const args = ['backup', '/nonexistent/a.backup', '--passphrase-file', 'passphrase.txt', '--json']
  const { status, err } = await shell([], prompts)(...args)
  assert.deepEqual([status, prompts.length], [1, 3])
  assert.match(JSON.parse(err).error_message, /The folder \/nonexistent does not exist/)
})
