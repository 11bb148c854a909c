/**
 * Patterns of operators, searched in texts of strangers. A subset of the syntax of RE2, without backtracking: a search
 * takes at most the length of the text times the size of the pattern. Characters, `.`, classes, `\d \w \s` and their
 * opposites, groups, `|`, `?`, `*`, `+`, `{n}`, `{n,m}`, `^` and `$`. The first group is captured.
 */

/** A compiled pattern. */
export type LinearPattern = {
  test(text: string): boolean
  /** Returns the first group of the leftmost match, or the whole match without a group; null without a match. */
  find(text: string): string | null
}

/** Instructions of a pattern, and repetitions of a piece, at most. */
const maxInstructions = 2_000
const maxRepetitions = 100

type Predicate = (character: string) => boolean

type Instruction =
  | { readonly op: 'character'; readonly matches: Predicate }
  /** Continues at both; the first is preferred. */
  | { readonly op: 'split'; readonly to: readonly [number, number] }
  | { readonly op: 'save'; readonly slot: number }
  | { readonly op: 'begin' | 'end' | 'match' }

type Node =
  | { readonly kind: 'character'; readonly matches: Predicate }
  | { readonly kind: 'begin' | 'end' }
  | { readonly kind: 'sequence' | 'choice'; readonly nodes: readonly Node[] }
  | { readonly kind: 'group'; readonly node: Node }
  | { readonly kind: 'repeat'; readonly node: Node; readonly min: number; readonly max: number }

const isDigit: Predicate = (c) => c >= '0' && c <= '9'
const isWord: Predicate = (c) => isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c === '_'
const isSpace: Predicate = (c) => ' \t\n\r\f\v'.includes(c)

const escapes = new Map<string, Predicate>([
  ['d', isDigit],
  ['w', isWord],
  ['s', isSpace],
  ['D', (c) => !isDigit(c)],
  ['W', (c) => !isWord(c)],
  ['S', (c) => !isSpace(c)],
  ['n', (c) => c === '\n'],
  ['r', (c) => c === '\r'],
  ['t', (c) => c === '\t'],
])

/** Reads a pattern. @throws SyntaxError */
class Parser {
  readonly #characters: readonly string[]
  #at = 0
  #groups = 0

  constructor(pattern: string) {
    this.#characters = [...pattern]
  }

  parse(): Node {
    const node = this.#choice()
    if (this.#at < this.#characters.length) throw new SyntaxError(`")" at ${this.#at} closes no group`)
    return node
  }

  #peek(): string | undefined {
    return this.#characters[this.#at]
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false
    this.#at++
    return true
  }

  #choice(): Node {
    const nodes = [this.#sequence()]
    while (this.#accept('|')) nodes.push(this.#sequence())
    return { kind: 'choice', nodes }
  }

  #sequence(): Node {
    const nodes: Node[] = []
    for (let c = this.#peek(); c !== undefined && c !== '|' && c !== ')'; c = this.#peek()) nodes.push(this.#repeat())
    return { kind: 'sequence', nodes }
  }

  #repeat(): Node {
    const node = this.#atom()
    const [min, max] = this.#quantifier() ?? [1, 1]
    if (this.#peek() === '*' || this.#peek() === '+' || this.#peek() === '?')
      throw new SyntaxError(`"${this.#peek()}" at ${this.#at} repeats a repetition`)
    return min === 1 && max === 1 ? node : { kind: 'repeat', node, min, max }
  }

  #quantifier(): [number, number] | null {
    if (this.#accept('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#accept('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#accept('?')) return [0, 1]
    const rest = this.#characters.slice(this.#at, this.#at + 12).join('')
    const [whole = '', low = '', comma, high = ''] = /^\{([0-9]{1,3})(?:(,)([0-9]{0,3}))?\}/.exec(rest) ?? []
    if (whole === '') return null
    this.#at += whole.length
    const min = Number(low)
    const max = comma === undefined ? min : high === '' ? Number.POSITIVE_INFINITY : Number(high)
    if (max < min || min > maxRepetitions || (Number.isFinite(max) && max > maxRepetitions))
      throw new SyntaxError(`${whole} is not from 0 to ${maxRepetitions}`)
    return [min, max]
  }

  #atom(): Node {
    const c = this.#characters[this.#at++] ?? ''
    if (c === '(') return this.#group()
    if (c === '[') return { kind: 'character', matches: this.#class() }
    if (c === '.') return { kind: 'character', matches: (one) => one !== '\n' }
    if (c === '^') return { kind: 'begin' }
    if (c === '$') return { kind: 'end' }
    if (c === '\\') return { kind: 'character', matches: this.#escape() }
    if ('*+?'.includes(c)) throw new SyntaxError(`"${c}" at ${this.#at - 1} has nothing to repeat`)
    return { kind: 'character', matches: (one) => one === c }
  }

  #group(): Node {
    const isPlain = this.#accept('?')
    if (isPlain && !this.#accept(':')) throw new SyntaxError('of the groups with "?", only (?: exists')
    const isFirst = !isPlain && this.#groups++ === 0
    const node = this.#choice()
    if (!this.#accept(')')) throw new SyntaxError('a group is not closed')
    return isFirst ? { kind: 'group', node } : node
  }

  #escape(): Predicate {
    const c = this.#characters[this.#at++]
    if (c === undefined) throw new SyntaxError('the pattern ends with a backslash')
    const known = escapes.get(c)
    if (known) return known
    if (isWord(c)) throw new SyntaxError(`\\${c} is not supported`)
    return (one) => one === c
  }

  #class(): Predicate {
    const isNegated = this.#accept('^')
    const members: Predicate[] = []
    for (;;) {
      const c = this.#characters[this.#at++]
      if (c === undefined) throw new SyntaxError('a class is not closed')
      if (c === ']' && members.length > 0) break
      if (c === '\\') {
        members.push(this.#escape())
        continue
      }
      const last = this.#characters[this.#at + 1]
      if (this.#peek() === '-' && last !== undefined && last !== ']') {
        if (last === '\\' || last < c) throw new SyntaxError(`${c}-${last} is no range`)
        this.#at += 2
        members.push((one) => one >= c && one <= last)
      } else members.push((one) => one === c)
    }
    return (one) => members.some((matches) => matches(one)) !== isNegated
  }
}

/** Appends the instructions of a node. */
const emit = (program: Instruction[], node: Node): void => {
  if (program.length > maxInstructions) throw new SyntaxError('the pattern is too long')
  const split = (prefersNext: boolean): ((other: number) => void) => {
    const place = program.length
    program.push({ op: 'split', to: [place + 1, place + 1] })
    return (other) => {
      program[place] = { op: 'split', to: prefersNext ? [place + 1, other] : [other, place + 1] }
    }
  }
  switch (node.kind) {
    case 'character':
      program.push({ op: 'character', matches: node.matches })
      return
    case 'begin':
    case 'end':
      program.push({ op: node.kind })
      return
    case 'sequence':
      for (const one of node.nodes) emit(program, one)
      return
    case 'group':
      program.push({ op: 'save', slot: 0 })
      emit(program, node.node)
      program.push({ op: 'save', slot: 1 })
      return
    case 'choice': {
      const exits: ((other: number) => void)[] = []
      for (const [i, one] of node.nodes.entries()) {
        const isLast = i === node.nodes.length - 1
        const other = isLast ? null : split(true)
        emit(program, one)
        // A split with two equal ways is a jump.
        if (!isLast) {
          const place = program.length
          program.push({ op: 'split', to: [0, 0] })
          exits.push((end) => {
            program[place] = { op: 'split', to: [end, end] }
          })
        }
        other?.(program.length)
      }
      for (const exit of exits) exit(program.length)
      return
    }
    case 'repeat': {
      for (let i = 0; i < node.min; i++) emit(program, node.node)
      if (Number.isFinite(node.max)) {
        const exits: ((other: number) => void)[] = []
        for (let i = node.min; i < node.max; i++) {
          exits.push(split(true))
          emit(program, node.node)
        }
        for (const exit of exits) exit(program.length)
        return
      }
      const again = program.length
      const exit = split(true)
      emit(program, node.node)
      program.push({ op: 'split', to: [again, again] })
      exit(program.length)
    }
  }
}

/** A thread: its instruction and what it captured. */
type Thread = { readonly at: number; readonly start: number; readonly saved: readonly [number, number] }

type Match = { readonly start: number; readonly end: number; readonly saved: readonly [number, number] }

const run = (program: readonly Instruction[], characters: readonly string[]): Match | null => {
  let threads: Thread[] = []
  let found: Match | null = null
  /** Follows instructions that read nothing. Each is entered once for each character. */
  const add = (list: Thread[], entered: Set<number>, first: Thread, position: number) => {
    const open = [first]
    for (let thread = open.pop(); thread; thread = open.pop()) {
      const { at, start, saved } = thread
      const instruction = program[at]
      if (!instruction || entered.has(at)) continue
      entered.add(at)
      if (instruction.op === 'split') {
        const [preferred, other] = instruction.to
        if (other !== preferred) open.push({ at: other, start, saved })
        open.push({ at: preferred, start, saved })
      } else if (instruction.op === 'save')
        open.push({ at: at + 1, start, saved: instruction.slot === 0 ? [position, -1] : [saved[0], position] })
      else if (instruction.op === 'begin' || instruction.op === 'end') {
        const place = instruction.op === 'begin' ? 0 : characters.length
        if (position === place) open.push({ at: at + 1, start, saved })
      } else list.push(thread)
    }
  }
  for (let position = 0; position <= characters.length; position++) {
    const entered = new Set<number>()
    const current: Thread[] = []
    for (const thread of threads) add(current, entered, thread, position)
    if (!found) add(current, entered, { at: 0, start: position, saved: [-1, -1] }, position)
    const next: Thread[] = []
    const character = characters[position]
    for (const { at, start, saved } of current) {
      const instruction = program[at]
      if (instruction?.op === 'match') {
        found = { start, end: position, saved }
        // Threads after it are less preferred.
        break
      }
      if (instruction?.op === 'character' && character !== undefined && instruction.matches(character))
        next.push({ at: at + 1, start, saved })
    }
    threads = next
    if (threads.length === 0 && found) break
  }
  return found
}

/** Compiles a pattern. @throws SyntaxError with the fault */
export const compilePattern = (pattern: string): LinearPattern => {
  const program: Instruction[] = []
  emit(program, new Parser(pattern).parse())
  program.push({ op: 'match' })
  return {
    test: (text) => run(program, [...text]) !== null,
    find: (text) => {
      const characters = [...text]
      const found = run(program, characters)
      if (!found) return null
      const [from, to] = found.saved[1] >= 0 ? found.saved : [found.start, found.end]
      return characters.slice(from, to).join('')
    },
  }
}
