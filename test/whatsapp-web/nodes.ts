import type { Node } from '../../src/connectors/whatsapp-web/library.ts'

export const node = (
  tag: string,
  attrs: Record<string, string | undefined> = {},
  content?: readonly Node[] | Uint8Array | string,
): Node => {
  const told = Object.entries(attrs).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { tag, attrs: Object.fromEntries(told), ...(content === undefined ? {} : { content }) }
}

export const childrenOf = (of: Node | undefined): readonly Node[] => (Array.isArray(of?.content) ? of.content : [])

export const childOf = (of: Node | undefined, tag: string): Node | undefined =>
  childrenOf(of).find((one) => one.tag === tag)

export const bytesOf = (of: Node | undefined): Buffer => {
  const { content } = of ?? {}
  return typeof content === 'string'
    ? Buffer.from(content)
    : content instanceof Uint8Array
      ? Buffer.from(content)
      : Buffer.alloc(0)
}

export const seconds = (): string => String(Math.floor(Date.now() / 1_000))

/** Without the device. */
export const bare = (jid: string): string => jid.replace(/:\d+@/, '@')
