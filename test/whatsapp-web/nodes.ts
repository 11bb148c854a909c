import type { BinaryNode } from '../../src/adapters/whatsapp-web/library.ts'

export const node = (
  tag: string,
  attrs: Record<string, string | undefined> = {},
  content?: readonly BinaryNode[] | Uint8Array | string,
): BinaryNode => {
  const told = Object.entries(attrs).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { tag, attrs: Object.fromEntries(told), ...(content === undefined ? {} : { content }) }
}

export const childrenOf = (of: BinaryNode | undefined): readonly BinaryNode[] =>
  Array.isArray(of?.content) ? of.content : []

export const childOf = (of: BinaryNode | undefined, tag: string): BinaryNode | undefined =>
  childrenOf(of).find((one) => one.tag === tag)

export const bytesOf = (of: BinaryNode | undefined): Buffer => {
  const { content } = of ?? {}
  return typeof content === 'string'
    ? Buffer.from(content)
    : content instanceof Uint8Array
      ? Buffer.from(content)
      : Buffer.alloc(0)
}

export const seconds = (): string => String(Math.floor(Date.now() / 1_000))

/** Address without the device. */
export const bare = (jid: string): string => jid.replace(/:\d+@/, '@')
