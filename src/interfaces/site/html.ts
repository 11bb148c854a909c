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

/** Returns a block of code. pages/code.js adds the button that copies it. */
export const codeHtml = (text: string): string =>
  `<div class="code"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`

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

/** Hidden until pages/search.js runs. pages/try.html has the same. */
const searchField = `<search class="search" hidden>
<input type="search" role="combobox" aria-label="Search the documentation" aria-autocomplete="list" aria-expanded="false" aria-controls="found" aria-keyshortcuts="/" autocomplete="off" spellcheck="false" placeholder="Search: press /">
<div id="found" role="listbox" aria-label="Results" tabindex="-1" hidden></div>
<p class="unseen" role="status"></p>
</search>`

/** Returns a whole page of the documentation. */
export const pageHtml = ({ title, current, head = '', sidebar, content }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="/pages/icon.svg">
<link rel="stylesheet" href="/pages/docs.css">
<link rel="stylesheet" href="/pages/code.css">
<link rel="stylesheet" href="/pages/search.css">
<script src="/pages/code.js" type="module"></script>
<script src="/pages/search.js" type="module"></script>
${head}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/docs"><img src="/pages/icon.svg" alt="" width="24" height="24"> Trunkline</a>
<nav aria-label="Documentation">
${links.map(([url, name]) => `<a href="${url}"${url === current ? ' aria-current="true"' : ''}>${name}</a>`).join('\n')}
</nav>
${searchField}
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
