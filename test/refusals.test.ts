import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'

// Each unit has one table of its refusals, `refusals.ts`: status, error code, headers and text of each.

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const files = globSync('src/**/*.ts', { cwd: root })
  .filter((path) => !/\.(?:test|conformance|worker-fixture)\.ts$/.test(path))
  .sort()
const tables = files.filter((path) => path.endsWith('/refusals.ts'))
const problemFile = 'src/platform/http/problem.ts'
const others = files.filter((path) => path !== problemFile && !tables.includes(path))

/** Exports of problem.ts that make no refusal. */
const harmless = ['CompatRefusal', 'ErrorBody', 'Problem', 'ProblemName', 'Shape', 'errorBody', 'problems', 'refuse']

test('no file other than a table of refusals makes a refusal', () => {
  assert.ok(tables.length >= 20, `saw only ${tables.length} tables`)
  const faults = others.flatMap((path) => {
    const source = read(path)
    const made = [...source.matchAll(/\bnew Problem\(/g)].map(() => `${path}: new Problem(`)
    const [, names = ''] = /^import (?:type )?\{([^}]*)\} from '[^']*\/problem\.ts'$/m.exec(source) ?? []
    const imported = names
      .split(',')
      .map((name) => name.replace(/\btype\b/, '').trim())
      .filter((name) => name !== '' && !harmless.includes(name))
    return [...made, ...imported.map((name) => `${path} imports ${name}`)]
  })
  assert.deepEqual(faults, [])
})

/** End of the literal or comment that begins at `at`; `at` if none does. */
const skip = (source: string, at: number): number => {
  if (source.startsWith('//', at)) return source.indexOf('\n', at)
  if (source.startsWith('/*', at)) return source.indexOf('*/', at) + 2
  const quote = source[at] ?? ''
  if (!`'"\``.includes(quote)) return at
  let i = at + 1
  while (i < source.length && source[i] !== quote) {
    if (source[i] === '\\') i += 2
    else if (quote === '`' && source.startsWith('${', i)) i = closing(source, i + 1) + 1
    else i++
  }
  return i + 1
}

/** Position of the bracket that closes the one at `at`. */
const closing = (source: string, at: number): number => {
  let depth = 0
  for (let i = at; i < source.length; i = Math.max(i + 1, skip(source, i))) {
    if ('([{'.includes(source[i] ?? '')) depth++
    else if (')]}'.includes(source[i] ?? '') && --depth === 0) return i
  }
  throw new Error(`a bracket is not closed: ${source.slice(at, at + 40)}`)
}

/** String literals of a source, each with \${} for its expressions. */
const literalsOf = (source: string): string[] => {
  const found: string[] = []
  for (let i = 0; i < source.length; ) {
    const end = skip(source, i)
    if (end > i && !source.startsWith('/', i)) {
      let text = source.slice(i + 1, end - 1)
      for (let at = text.indexOf('${'); at !== -1; at = text.indexOf('${', at + 3))
        text = `${text.slice(0, at)}\${}${text.slice(closing(text, at + 1) + 1)}`
      found.push(text)
    }
    i = Math.max(i + 1, end)
  }
  return found
}

test('each text of a refusal is defined once', () => {
  const texts = tables.flatMap((path) => literalsOf(read(path)).filter((text) => /\s/.test(text)))
  assert.ok(texts.length >= 250, `saw only ${texts.length} texts`)
  assert.deepEqual(
    texts.filter((text, i) => texts.indexOf(text) !== i),
    [],
  )
})

/** Arguments of each call of a maker: `conflict(text, code, headers)`. */
const makerCalls = (source: string): string[][] =>
  [...source.matchAll(/(?<![\w.])(?:[a-z]\w*)\(/g)]
    .filter(([call]) => makers.includes(call.slice(0, -1)))
    .map(({ index, 0: call }) => {
      const open = index + call.length - 1
      const list = source.slice(open + 1, closing(source, open))
      const parts: string[] = ['']
      for (let i = 0; i < list.length; ) {
        const end = '([{'.includes(list[i] ?? '') ? closing(list, i) + 1 : Math.max(i + 1, skip(list, i))
        if (list[i] === ',') parts.push('')
        else parts.push(`${parts.pop()}${list.slice(i, end)}`)
        i = end
      }
      return parts.map((part) => part.trim()).filter((part) => part !== '')
    })

/** Variable of the refusals that call control makes, for SIP as well. */
const ofCalls = ['code']

const makers = [...read(problemFile).matchAll(/^export const (\w+) = maker\(/gm)].map(([, name = '']) => name)
const codesIn = (source: string): string[] => [...source.matchAll(/'([a-z][a-z_0-9]*)'/g)].map(([, code = '']) => code)

test('docs/errors.md names every error code that the program can throw', () => {
  const used = new Set([...read(problemFile).matchAll(/code: '([a-z_0-9]+)'/g)].map(([, code = '']) => code))
  for (const path of tables) {
    const source = read(path)
    for (const [, code = 'undefined'] of makerCalls(source)) {
      if (code === 'undefined') continue
      // A variable lists its codes as its type.
      const [, type = code] = /^\w+$/.test(code) ? (new RegExp(`\\b${code}: ([^,)=]*)`).exec(source) ?? []) : []
      const listed = codesIn(type)
      assert.ok(listed.length > 0 || ofCalls.includes(code), `${path}: ${code} names no error code`)
      for (const one of listed) used.add(one)
    }
  }
  assert.ok(used.size >= 100, `saw only ${used.size} codes`)
  const named = new Set([...read('docs/errors.md').matchAll(/^\| `([a-z_0-9]+)` \|/gm)].map(([, code = '']) => code))
  assert.deepEqual([...used].filter((code) => !named.has(code)).sort(), [])
})

test('each refusal of a table is used', () => {
  const used = new Set<string>()
  for (const path of files) {
    const source = read(path)
    for (const [, names = '', from = ''] of source.matchAll(/^import \{([^}]*)\} from '([^']*\/refusals\.ts)'$/gm))
      for (const [, name = '', alias = name] of names.matchAll(/(\w+)(?: as (\w+))?/g))
        for (const [, key] of source.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, 'g')))
          used.add(`${posix.join(posix.dirname(path), from)} ${key}`)
  }
  const unused = tables.flatMap((path) =>
    [...read(path).matchAll(/^ {2}(\w+): /gm)].map(([, key]) => `${path} ${key}`).filter((one) => !used.has(one)),
  )
  assert.deepEqual(unused, [])
})
