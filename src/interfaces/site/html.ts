/** Characters that HTML reserves, in text and in quoted attributes. */
const reserved = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

/** Returns text as HTML. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => reserved.get(sign) ?? sign)

export type Page = {
  readonly title: string
  /** Link of the header that leads to this page. */
  readonly current: '/docs' | '/docs/guides'
  /** Elements for the head, such as scripts. */
  readonly head?: string
  readonly sidebar: string
  readonly content: string
}

const links = [
  ['/docs', 'API reference'],
  ['/docs/guides', 'Guides'],
  ['/docs/try', 'Try requests'],
  ['/openapi.json', 'OpenAPI'],
  ['/console', 'Console'],
] as const

/** Returns a whole page of the documentation. */
export const pageHtml = ({ title, current, head = '', sidebar, content }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="/pages/icon.svg">
<link rel="stylesheet" href="/pages/docs.css">
${head}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/docs"><img src="/pages/icon.svg" alt="" width="24" height="24"> Trunkline</a>
<nav aria-label="Documentation">
${links.map(([url, name]) => `<a href="${url}"${url === current ? ' aria-current="true"' : ''}>${name}</a>`).join('\n')}
</nav>
</header>
<div class="columns">
<nav class="contents" aria-label="Contents">
${sidebar}
</nav>
<main id="content" tabindex="-1">
${content}
</main>
</div>
</body>
</html>
`
