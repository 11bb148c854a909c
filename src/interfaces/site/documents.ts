import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { escapeHtml, pageHtml } from './html.ts'
import { type Heading, type LinkResolver, renderMarkdown, rewriteLinks } from './markdown.ts'
import { pageEntries, type SearchEntry } from './search-entries.ts'

const sections = ['Start', 'Guides', 'Reference', 'Operate', 'Project', 'Decisions'] as const

type Section = (typeof sections)[number]

export type Document = {
  /** Path in the repository. */
  readonly file: string
  /** Path of the page; with `.md`, of the Markdown. */
  readonly url: string
  readonly section: Section
}

/** Addresses of documents outside docs/. */
const others = new Map<string, string>([
  ['README.md', 'readme'],
  ['CHANGELOG.md', 'changelog'],
  ['ARCHITECTURE.md', 'architecture'],
  ['GLOSSARY.md', 'glossary'],
  ['CONTRIBUTING.md', 'contributing'],
  ['RELEASE.md', 'release'],
  ['SECURITY.md', 'security-policy'],
])

const patterns = [...others.keys(), 'packages/*/README.md', 'docs/*.md', 'docs/operating/*.md', 'docs/decisions/*.md']

/** The documents that docs/README.md links to, in its order, with the heading above each. */
const listedIn = (index: string): Map<string, Section> => {
  const found = new Map<string, Section>()
  for (const part of index.split(/^## /m).slice(1)) {
    const section = sections.find((one) => part.startsWith(`${one}\n`))
    if (!section) throw new Error(`docs/README.md has a section that is none of ${sections.join(', ')}`)
    for (const [, target = ''] of part.matchAll(/\]\(([^)#]+)\)/g)) found.set(posix.join('docs', target), section)
  }
  return found
}

const documentOf = (file: string, listed: ReadonlyMap<string, Section>): Document => {
  const name = others.get(file) ?? file.replace(/^docs\//, '').replace(/(?:\/README)?\.md$/, '')
  const [, folder] = file.split('/')
  const unlisted = folder === 'operating' ? 'Operate' : folder === 'decisions' ? 'Decisions' : 'Project'
  if (file === 'docs/README.md') return { file, url: '/docs/guides', section: 'Start' }
  return { file, url: `/docs/${name}`, section: folder === 'decisions' ? unlisted : (listed.get(file) ?? unlisted) }
}

/** True for what a `README.md` introduces: the first page of its folder. */
const isFirst = ({ file }: Document): boolean => file.endsWith('/README.md') && file.startsWith('docs/')

/** True for guides: wide screens show their code next to the text. */
const isWithCode = ({ section, file }: Document): boolean =>
  section === 'Guides' || (section === 'Reference' && file.startsWith('docs/'))

const tidy = (html: string): string => html.replace(/<[^>]+>/g, '')

/** Documents in the order in which docs/README.md links to them; each folder begins with its README. */
const listDocuments = (root: string): Document[] => {
  const found = [...new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: root })))]
  const listed = listedIn(readFileSync(join(root, 'docs/README.md'), 'utf8'))
  const order = [...listed.keys()]
  const documents = found.map((path) => documentOf(path.replaceAll('\\', '/'), listed))
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

  /** Links that name a file, as readers of the repository need, show the title of its page. */
  const withTitles = (html: string): string =>
    html.replace(/(<a href="(\/docs\/[^"#]+)[^"]*">)[\w./-]+\.md<\/a>/g, (link, open: string, url: string) => {
      const to = byUrl.get(url)
      return to ? `${open}${escapeHtml(title(to))}</a>` : link
    })

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
        content: `<article${isWithCode(one) ? ' class="with-code"' : ''}>\n${withTitles(html)}</article>\n<p class="quiet"><a href="${one.url}.md">This page as Markdown</a></p>`,
      })
    },
    /** Entries of the search: sections of the pages for integrators and operators. */
    entries: (): SearchEntry[] =>
      documents
        .filter(({ section, file }) => section !== 'Project' && section !== 'Decisions' && file !== 'docs/README.md')
        .flatMap((one) =>
          pageEntries(one.url, title(one), one.section, renderMarkdown(read(one), linksOf(one, '')).html),
        ),
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
