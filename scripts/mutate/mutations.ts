import { type Node, type SourceFile, type Statement, SyntaxKind } from 'typescript/unstable/ast'
import {
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIfStatement,
  isNumericLiteral,
  isThrowStatement,
  isWhileStatement,
} from 'typescript/unstable/ast/is'

/** A change of a source text: the characters from `start` to `end` are replaced by `after`. */
export type Mutation = {
  readonly kind: 'condition' | 'boundary' | 'operator' | 'statement' | 'arguments'
  readonly start: number
  readonly end: number
  readonly line: number
  readonly before: string
  readonly after: string
}

const boundaries = new Map<SyntaxKind, string>([
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
])

const operators = new Map<SyntaxKind, string>([
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.PlusToken, '-'],
  [SyntaxKind.MinusToken, '+'],
  [SyntaxKind.AsteriskToken, '/'],
  [SyntaxKind.SlashToken, '*'],
])

/** Statements that log. Tests need not prove log lines. */
const isLogging = /^(?:void |await )?(?:\w+\.)*(?:log|logger|console)(?:\.\w+)?\(/

/** The order of their arguments has no effect. */
const isCommutative = /^Math\.(?:min|max)\(/

/**
 * Finds all mutations of a file.
 * @param text the content of the file that `source` was parsed from
 */
export const mutationsOf = (source: SourceFile, text: string): Mutation[] => {
  const found: Mutation[] = []
  const lineAt = (position: number) => text.slice(0, position).split('\n').length
  const replace = (kind: Mutation['kind'], node: Node, after: string) => {
    const start = node.getStart(source)
    found.push({ kind, start, end: node.end, line: lineAt(start), before: text.slice(start, node.end), after })
  }
  const textOf = (node: Node) => text.slice(node.getStart(source), node.end)
  const remove = (statement: Statement) => {
    if (!isLogging.test(textOf(statement))) replace('statement', statement, '{}')
  }
  const negate = (condition: Node) => replace('condition', condition, `!(${textOf(condition)})`)

  const swap = (first: Node, second: Node) => {
    const [start, end] = [first.getStart(source), second.end]
    const between = text.slice(first.end, second.getStart(source))
    const after = `${textOf(second)}${between}${textOf(first)}`
    const before = text.slice(start, end)
    if (before !== after) found.push({ kind: 'arguments', start, end, line: lineAt(start), before, after })
  }

  const visit = (node: Node): void => {
    if (isExpressionStatement(node) || isThrowStatement(node)) remove(node)
    if (isIfStatement(node)) {
      negate(node.expression)
      if (node.elseStatement === undefined) remove(node)
    }
    if (isWhileStatement(node)) negate(node.expression)
    if (isConditionalExpression(node)) negate(node.condition)
    if (isBinaryExpression(node)) {
      const boundary = boundaries.get(node.operatorToken.kind)
      const operator = operators.get(node.operatorToken.kind)
      if (boundary) {
        replace('boundary', node.operatorToken, boundary)
        // Only here: elsewhere a number is mostly a limit or a time, where one more is seldom a fault.
        for (const side of [node.left, node.right])
          if (isNumericLiteral(side)) replace('boundary', side, `(${textOf(side)} + 1)`)
      }
      if (operator) replace('operator', node.operatorToken, operator)
    }
    if (isCallExpression(node) && !isLogging.test(textOf(node)) && !isCommutative.test(textOf(node))) {
      const [first, second] = node.arguments
      if (first && second) swap(first, second)
    }
    node.forEachChild(visit)
  }
  source.forEachChild(visit)
  return found
}

/** The text with one mutation applied. */
export const mutated = (text: string, { start, end, after }: Mutation): string =>
  text.slice(0, start) + after + text.slice(end)
