import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

// The writing rules that a program can check (CONTRIBUTING.md, Writing): rates of patterns in comments and documents.

const root = join(import.meta.dirname, '..')
const exclude = (path: string) => /(?:^|\/)(?:node_modules|dist|data|\.git)(?:\/|$)/.test(path)
const find = (...patterns: string[]) => globSync(patterns, { cwd: root, exclude }).sort()
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** A paragraph of prose, and the file that it is in. */
type Passage = { readonly file: string; readonly text: string }

/** Comments of a source file: a docstring or the lines of a row of `//` are one passage. */
const commentsOf = (file: string): Passage[] => {
  const passages: string[][] = []
  let current: string[] | null = null
  let isBlock = false
  for (const line of read(file).split('\n')) {
    const block = isBlock ? /^\s*\*?(.*?)(?:\*\/.*)?$/.exec(line) : /^\s*\/\*\*?(.*?)(?:\*\/.*)?$/.exec(line)
    const row = isBlock ? null : (/^\s*(?:\/\/|--)(?!#)(.*)$/.exec(line) ?? /\s\/\/ (.*)$/.exec(line))
    if (block || row) {
      const text = (block?.[1] ?? row?.[1] ?? '').trim()
      const isNew = current === null || text === '' || (block !== null && !isBlock)
      if (isNew) passages.push([])
      current = passages.at(-1) ?? null
      current?.push(text)
      if (row && !/^\s*(?:\/\/|--)/.test(line)) current = null
    } else current = null
    if (block) isBlock = !line.includes('*/')
  }
  return passages.map((lines) => ({ file, text: lines.join(' ').trim() })).filter(({ text }) => /[a-z]/i.test(text))
}

/** Prose of a document: without code, tables, addresses and headings. A list item is a passage. */
const prosesOf = (file: string): Passage[] =>
  read(file)
    .replace(/^```.*?^```/gms, '\n')
    .replace(/<!--.*?-->/gs, '')
    .split(/\n(?:\s*\n|\s*(?=[*-] |\d+\. ))/)
    .map((text) => text.trim())
    .filter((text) => text !== '' && !/^(?:#|\||<)/.test(text))
    .map((text) => ({
      file,
      text: text
        .replace(/^(?:[*-]|\d+\.) /, '')
        .replace(/\]\([^)]*\)/g, ']')
        .replace(/\s+/g, ' '),
    }))

const words = (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word)).length

/** Quoted and code text is not ours to judge. */
const plain = (text: string) =>
  text.replace(/`[^`]*`|'[^' ][^']*'|“[^”]*”|"[^"]*"/g, 'X').replace(/@(?:param|returns|throws) /g, '')

type Pattern = { readonly name: string; readonly goal: number; readonly count: (text: string) => number }

const matches = (pattern: RegExp) => (text: string) => [...text.matchAll(pattern)].length
const begins = (list: string) => new RegExp(`(?:^|[.!?:;] )(?:${list})\\b[^.!?]*(?=[.!]|$)`, 'g')

/** Goals are occurrences per 1,000 words of comments; documents may have one and a half times as many. */
const patterns: readonly Pattern[] = [
  {
    name: 'a sentence begins with Who, Whom, Whose or What',
    goal: 0.3,
    count: matches(begins('Who|Whoever|Whom|Whose|What|Whatever')),
  },
  { name: 'nobody, somebody, whoever, whom', goal: 0.3, count: matches(/\b(?:nobody|somebody|whoever|whom)\b/gi) },
  { name: 'told, tell', goal: 0.9, count: matches(/\b(?:told|tells?|telling)\b/gi) },
  {
    name: 'a passage begins with a pronoun',
    goal: 1.3,
    count: matches(
      /^(?:It|Its|They|Their|Them|Those|These|This|That|One|Ones|Each|So|Such|He|She|His|Ours|Others?)\b/g,
    ),
  },
  { name: 'so many, so much, so long', goal: 0.1, count: matches(/\bso (?:many|much|long)\b(?! as| that)/gi) },
  { name: 'stands', goal: 0.2, count: matches(/\b(?:stands?|stood)\b(?! for)/gi) },
  { name: 'written down', goal: 0, count: matches(/\bwritten down\b/gi) },
  { name: 'a sentence begins with Of', goal: 0, count: matches(begins('Of')) },
  {
    name: 'anew, beside, in hand, be had, unless told',
    goal: 0.1,
    count: matches(/\b(?:anew|beside|in hand|be had|unless told)\b/gi),
  },
]

const rates = (passages: readonly Passage[], factor: number) => {
  const texts = passages.map((one) => ({ ...one, text: plain(one.text) }))
  const total = texts.reduce((sum, { text }) => sum + words(text), 0)
  return {
    total,
    faults: patterns.flatMap(({ name, goal, count }) => {
      const hits = texts.filter(({ text }) => count(text) > 0)
      const sum = hits.reduce((all, { text }) => all + count(text), 0)
      const rate = (sum * 1_000) / total
      if (rate <= goal * factor) return []
      const shown = hits.slice(0, 12).map(({ file, text }) => `\n    ${file}: ${text.slice(0, 100)}`)
      return [`${name}: ${rate.toFixed(2)} per 1,000 words, at most ${goal * factor}${shown.join('')}`]
    }),
  }
}

const comments = () =>
  find('{src,packages,simulator,test,scripts,bench,console}/**/*.{ts,tsx,mjs,js,sql}', 'bin/*.mjs')
    .filter((path) => path !== 'test/words.test.ts')
    .flatMap(commentsOf)

const documents = () =>
  find('*.md', 'docs/**/*.md', 'packages/*/README.md', 'console/**/*.md', '.github/**/*.md').flatMap(prosesOf)

test('comments follow the writing rules', () => {
  const { total, faults } = rates(comments(), 1)
  assert.ok(total >= 30_000, `saw only ${total} words`)
  assert.deepEqual(faults, [], faults.join('\n'))
})

test('documents follow the writing rules', () => {
  const { total, faults } = rates(documents(), 1.5)
  assert.ok(total >= 15_000, `saw only ${total} words`)
  assert.deepEqual(faults, [], faults.join('\n'))
})

test('sentences of documents have at most 17 words on average', () => {
  const lengths = documents()
    // The changelog and decisions are records; tables are not sentences.
    .filter(({ file }) => file !== 'CHANGELOG.md')
    .flatMap(({ text }) => plain(text).split(/(?<=[.!?])\s+/))
    .map(words)
    .filter((length) => length > 1)
  assert.ok(lengths.length >= 1_000, `saw only ${lengths.length} sentences`)
  const average = lengths.reduce((sum, length) => sum + length, 0) / lengths.length
  assert.ok(average <= 17, `${average.toFixed(1)} words`)
})
