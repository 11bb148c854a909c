import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { escapeHtml, pageHtml } from './html.ts'
import { type Heading, type LinkResolver, renderMarkdown, rewriteLinks } from './markdown.ts'

type Section = 'Guides' | 'Operate' | 'Project' | 'Decisions'

export type Document = {
  /** Path in the repository. */
  readonly file: string
  /** Path of the page; with `.md`, of the Markdown. */
  readonly url: string
  readonly section: Section
}

const sections: readonly Section[] = ['Guides', 'Operate', 'Project', 'Decisions']

/** Documents outside docs/. */
const others = new Map<string, { name: string; section: Section }>([
  ['README.md', { name: 'readme', section: 'Guides' }],
  ['packages/voice-sdk/README.md', { name: 'packages/voice-sdk', section: 'Guides' }],
  ['CHANGELOG.md', { name: 'changelog', section: 'Project' }],
  ['ARCHITECTURE.md', { name: 'architecture', section: 'Project' }],
  ['GLOSSARY.md', { name: 'glossary', section: 'Project' }],
  ['CONTRIBUTING.md', { name: 'contributing', section: 'Project' }],
  ['RELEASE.md', { name: 'release', section: 'Project' }],
  ['SECURITY.md', { name: 'security-policy', section: 'Project' }],
])

const patterns = [...others.keys(), 'packages/*/README.md', 'docs/*.md', 'docs/operating/*.md', 'docs/decisions/*.md']

const documentOf = (file: string): Document => {
  const known = others.get(file)
  if (known) return { file, url: `/docs/${known.name}`, section: known.section }
  if (file === 'docs/README.md') return { file, url: '/docs/guides', section: 'Guides' }
  const url = `/docs/${file.replace(/^docs\//, '').replace(/(?:\/README)?\.md$/, '')}`
  const folder = url.split('/')[2]
  const section = folder === 'operating' ? 'Operate' : folder === 'decisions' ? 'Decisions' : 'Guides'
  return { file, url, section: file.startsWith('packages/') ? 'Project' : section }
}

/** True for what a `README.md` introduces: the first page of its folder. */
const isFirst = ({ file }: Document): boolean => file.endsWith('/README.md') && file.startsWith('docs/')

const tidy = (html: string): string => html.replace(/<[^>]+>/g, '')

/** Documents in the order in which docs/README.md links to them; each folder begins with its README. */
const listDocuments = (root: string): Document[] => {
  const found = [...new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: root })))]
  const documents = found.map((path) => documentOf(path.replaceAll('\\', '/')))
  const order = documents.some(({ file }) => file === 'docs/README.md')
    ? [...readFileSync(join(root, 'docs/README.md'), 'utf8').matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) =>
        posix.join('docs', target),
      )
    : []
  const rank = (one: Document): number => {
    const place = order.indexOf(one.file)
    return isFirst(one) ? -1 : place < 0 ? order.length : place
  }
  return documents.sort(
    (a, b) =>
      sections.indexOf(a.section) - sections.indexOf(b.section) ||
      rank(a) - rank(b) ||
      a.file.localeCompare(b.file, 'en'),
  )
}

/** Returns the first sentence of a document as plain text. */
const summaryOf = (text: string): string => {
  const paragraph = text.split(/\n{2,}/).find((part) => /^(?:[A-Z[]|`(?!``))/.test(part)) ?? ''
  const plain = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/\s+/g, ' ')
  return /^.+?[.!](?= |$)/.exec(plain)?.[0] ?? plain
}

const titleOf = (text: string, file: string): string => (/^# +(.+)$/m.exec(text)?.[1] ?? file).replace(/`/g, '')

/** The documents that are served. Only the files listed by this call can be read. */
export const makeDocuments = (root: string) => {
  const documents = listDocuments(root)
  const byFile = new Map(documents.map((one) => [one.file, one]))
  const byUrl = new Map(documents.map((one) => [one.url, one]))
  const read = ({ file }: Document) => readFileSync(join(root, file), 'utf8')
  const titles = new Map<string, string>()
  const title = (one: Document): string => {
    const known = titles.get(one.file) ?? titleOf(read(one), one.file)
    titles.set(one.file, known)
    return known
  }

  /** Maps links between files to addresses, with `.md` for the Markdown. Files that are not served have none. */
  const linksOf =
    (from: Document, suffix: '' | '.md'): LinkResolver =>
    (target) => {
      if (/^(?:[a-z]+:|#|\/)/i.test(target)) return target
      const [path = '', anchor] = target.split('#')
      const file = posix.join(posix.dirname(from.file), path).replace(/\/$/, '')
      const to = byFile.get(file) ?? byFile.get(`${file}/README.md`)
      return to ? `${to.url}${suffix}${anchor === undefined ? '' : `#${anchor}`}` : null
    }

  const headingsHtml = (headings: readonly Heading[]): string => {
    const parts = headings.filter(({ depth }) => depth === 2)
    if (parts.length < 2) return ''
    return `<ul>${parts.map(({ id, html }) => `<li><a href="#${escapeHtml(id)}">${html}</a></li>`).join('')}</ul>`
  }

  const sidebar = (current: Document, headings: readonly Heading[]): string =>
    sections
      .map((section) => {
        const listed = documents.filter(
          (one) => one.section === section && (section !== 'Decisions' || isFirst(one) || one === current),
        )
        const items = listed.map((one) => {
          const here = one === current
          const mark = here ? ' aria-current="page"' : ''
          return `<li><a href="${one.url}"${mark}>${escapeHtml(title(one))}</a>${here ? headingsHtml(headings) : ''}</li>`
        })
        return `<p>${section}</p>\n<ul>\n${items.join('\n')}\n</ul>`
      })
      .join('\n')

  return {
    documents,
    find: (url: string): Document | undefined => byUrl.get(url),
    html(one: Document): string {
      const { html, headings } = renderMarkdown(read(one), linksOf(one, ''))
      return pageHtml({
        title: `${tidy(title(one))} · Trunkline`,
        current: '/docs/guides',
        head: `<link rel="alternate" type="text/markdown" href="${one.url}.md">\n`,
        sidebar: sidebar(one, headings),
        content: `<article>\n${html}</article>\n<p class="quiet"><a href="${one.url}.md">This page as Markdown</a></p>`,
      })
    },
    markdown: (one: Document): string => rewriteLinks(read(one), linksOf(one, '.md')),
    /** The index for language models, in the form of llmstxt.org. */
    index(summary: string): string {
      const line = (one: Document) => {
        const about = one.section === 'Decisions' ? '' : summaryOf(read(one))
        return `- [${title(one)}](${one.url}.md)${about === '' ? '' : `: ${about}`}`
      }
      const parts = sections.map((section) =>
        [
          `## ${section === 'Decisions' ? 'Optional' : section}`,
          '',
          ...documents.filter((one) => one.section === section).map(line),
        ].join('\n'),
      )
      return [
        '# Trunkline',
        `> ${summary}`,
        'Every page below is Markdown. The same address without `.md` is the page for people.',
        '## API\n\n- [OpenAPI document](/openapi.json): every operation with its fields, errors and an example.',
        ...parts,
        '',
      ].join('\n\n')
    },
  }
}
