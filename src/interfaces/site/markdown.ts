import { Marked } from 'marked'
import { codeHtml, escapeHtml } from './html.ts'

export type Heading = { readonly depth: number; readonly id: string; readonly html: string }

/** Returns the address of a link, or null for a link that becomes plain text. */
export type LinkResolver = (target: string) => string | null

/** Returns the anchor of a heading, by the rule of GitHub. */
const slugOf = (text: string): string =>
  text
    .replace(/&#?\w+;/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')

const isAddress = (target: string): boolean => /^(?:https?:\/\/|mailto:|#|\/(?!\/))/i.test(target)

/** A picture of docs/images in a light and a dark form: the only HTML that pages show. */
const picture =
  /^<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?:docs\/)?images\/([\w-]+\.png)">\s*<img src="(?:docs\/)?images\/([\w-]+\.png)" width="(\d+)" alt="([^"<>]*)">\s*<\/picture>\s*$/

const htmlOf = (text: string): string => {
  const [, dark, light, width, alt] = picture.exec(text) ?? []
  if (dark !== undefined)
    return (
      `<picture><source media="(prefers-color-scheme: dark)" srcset="/docs/images/${dark}">` +
      `<img src="/docs/images/${light}" width="${width}" alt="${alt}" loading="lazy"></picture>\n`
    )
  return /^\s*<!--[\s\S]*?-->\s*$/.test(text) ? '' : escapeHtml(text)
}

/**
 * Reads a Markdown text: raw HTML other than pictures is shown as text, comments are dropped, and links to other schemes
 * become text. Rows of error codes have anchors, as headings have.
 */
const reader = (resolve: LinkResolver, headings: Heading[]): Marked => {
  const seen = new Map<string, number>()
  const anchorOf = (text: string): string => {
    const slug = slugOf(text)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
  return new Marked({
    renderer: {
      html: ({ text }) => htmlOf(text),
      image: ({ text }) => escapeHtml(text),
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens)
        const address = resolve(href)
        if (address === null || !isAddress(address)) return inner
        return `<a href="${escapeHtml(address)}">${inner}</a>`
      },
      heading({ depth, tokens }) {
        const html = this.parser.parseInline(tokens)
        const id = anchorOf(html.replace(/<[^>]+>/g, ''))
        headings.push({ depth, id, html: html.replace(/<\/?a\b[^>]*>/g, '') })
        return `<h${depth} id="${escapeHtml(id)}">${html}</h${depth}>\n`
      },
      code: ({ text }) => `${codeHtml(text)}\n`,
      table({ header, rows }) {
        const cell = (tokens: (typeof header)[0]['tokens'], tag: string) =>
          `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`
        const head = header.map(({ tokens, text }) => cell(tokens, text === '' ? 'td' : 'th')).join('')
        const isHeaded = header.some(({ text }) => text !== '')
        const areCodes = header[0]?.text === '`error_code`'
        const body = rows
          .map((row) => {
            const id = areCodes ? ` id="${escapeHtml(anchorOf(row[0]?.text.replaceAll('`', '') ?? ''))}"` : ''
            return `<tr${id}>${row.map(({ tokens }) => cell(tokens, 'td')).join('')}</tr>`
          })
          .join('\n')
        return (
          '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>' +
          `${isHeaded ? `<thead><tr>${head}</tr></thead>\n` : ''}<tbody>${body}</tbody></table></div>\n`
        )
      },
    },
  })
}

/** Renders a document as HTML and lists its headings. */
export const renderMarkdown = (text: string, resolve: LinkResolver): { html: string; headings: Heading[] } => {
  const headings: Heading[] = []
  return { html: reader(resolve, headings).parse(text, { async: false }), headings }
}

const same: LinkResolver = (target) => target
/** For texts without headings, whose anchors it would count on. */
const prose = reader(same, [])

/** Renders a description of the interface: most have no markup, so the parser is spared. */
export const renderInline = (text: string): string =>
  /[`*_[\]<\\~]|https?:/.test(text) ? prose.parseInline(text, { async: false }) : escapeHtml(text)

/** Renders a description of several paragraphs: the same in every page of a process. */
export const renderBlock = (text: string): string => {
  if (/^ {0,3}#/m.test(text)) return renderMarkdown(text, same).html
  return /[`*_[\]<\\~\n|]|https?:/.test(text) ? prose.parse(text, { async: false }) : `<p>${escapeHtml(text)}</p>`
}

/** A block of code, inline code, or a link. */
const codeOrLink = /^```[\s\S]*?^```|(!?)\[((?:`[^`\n]*`|[^\][`])*)\]\(([^)\s]+)\)|`[^`\n]+`/gm

/** Replaces the links of a Markdown text outside code. A link without an address becomes its text. */
export const rewriteLinks = (text: string, resolve: LinkResolver): string =>
  text.replace(codeOrLink, (whole: string, mark?: string, name = '', target = '') => {
    if (mark === undefined) return whole
    const address = mark === '' ? resolve(target) : null
    return address === null ? name : `[${name}](${address})`
  })
