import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../../../../test/needs.ts'
import { temporaryFolder } from '../../../../test/servers.ts'
import { contracts } from '../../../contracts.ts'
import { commandsOf } from '../input/command.ts'
import { makeShell } from '../testing.ts'

const shell = makeShell(contracts)
const folder = temporaryFolder()

/** The script of a shell, in a file. */
const script = async (name: string): Promise<string> => {
  const { status, out, err } = await shell('completion', name)
  assert.equal(status, 0, err)
  const path = join(folder, `trunkline.${name}`)
  writeFileSync(path, out)
  return path
}

/** The words that bash offers after a line. */
const inBash = async (...words: string[]): Promise<string[]> => {
  const run = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _trunkline; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['-c', run, 'bash', await script('bash'), ...words], { encoding: 'utf8' })
  return out.split('\n').filter((word) => word !== '')
}

test('bash completes nouns, verbs, options and known values', async () => {
  assert.deepEqual(await inBash('trunkline', 'acc'), ['accounts'])
  assert.ok((await inBash('trunkline', '')).includes('listen'))
  assert.deepEqual(await inBash('trunkline', 'accounts', 'cl'), ['close'])
  assert.ok((await inBash('trunkline', 'accounts', 'close', 'X', '--')).includes('--write-off'))
  assert.deepEqual(await inBash('trunkline', 'accounts', 'list', '--state', 'b'), ['blocked'])
  assert.deepEqual(await inBash('trunkline', 'accounts', 'list', '--format', ''), ['table', 'json', 'csv'])
  assert.deepEqual(await inBash('trunkline', 'completion', 'z'), ['zsh'])
})

test('bash completes every command and every option of it', async () => {
  const offered = await inBash('trunkline', '')
  for (const { name } of commandsOf(contracts)) assert.ok(offered.includes(name.split(' ')[0] ?? ''), name)
  for (const { name, fields } of commandsOf(contracts).filter((_, i) => i % 8 === 0)) {
    const options = await inBash('trunkline', ...name.split(' '), '--')
    for (const { option } of fields) assert.ok(options.includes(`--${option}`), `${name} --${option}`)
  }
})

test('fish completes nouns, verbs, options and known values', needs('fish'), async () => {
  const path = await script('fish')
  const inFish = (line: string) =>
    execFileSync('fish', ['--no-config', '-c', `source ${path}; complete -C ${JSON.stringify(line)}`], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    })
      .split('\n')
      .map((one) => one.split('\t')[0])
      .filter((word) => word !== '')
  assert.deepEqual(inFish('trunkline acc'), ['accounts'])
  assert.deepEqual(inFish('trunkline accounts cl'), ['close'])
  assert.deepEqual(inFish('trunkline accounts close X --write'), ['--write-off'])
  assert.deepEqual(inFish('trunkline accounts list --state b'), ['blocked'])
  assert.deepEqual(inFish('trunkline completion z'), ['zsh'])
})

test('zsh completes nouns, verbs, options and known values', needs('zsh'), async () => {
  const path = await script('zsh')
  // Stubs the parts of zsh that a script lacks: the offered words are printed.
  const inZsh = (...words: string[]) => {
    const prefix = words.at(-1) ?? ''
    const run = [
      'compdef() { :; }; _files() { print FILES; }',
      'compadd() { shift; for word in "$@"; do [[ $word == $PREFIX* ]] && print -r -- $word; done; return 0; }',
      `source ${path}; words=("$@"); CURRENT=$#; PREFIX=${JSON.stringify(prefix)}; _trunkline`,
    ].join('\n')
    return execFileSync('zsh', ['-f', '-c', run, 'zsh', ...words], { encoding: 'utf8' })
      .split('\n')
      .filter((word) => word !== '')
  }
  assert.deepEqual(inZsh('trunkline', 'acc'), ['accounts'])
  assert.deepEqual(inZsh('trunkline', 'accounts', 'cl'), ['close'])
  assert.deepEqual(inZsh('trunkline', 'accounts', 'close', 'X', '--write'), ['--write-off'])
  assert.deepEqual(inZsh('trunkline', 'accounts', 'list', '--state', 'b'), ['blocked'])
  assert.deepEqual(inZsh('trunkline', 'prices', 'import', 'p'), ['FILES'])
})

test('an unknown shell is refused with the list of shells', async () => {
  for (const words of [['completion'], ['completion', 'tcsh'], ['completion', 'bash', 'zsh']]) {
    const { status, out, err } = await shell(...words)
    assert.deepEqual([status, out], [2, ''])
    assert.match(err, /bash\|zsh\|fish/)
  }
})
