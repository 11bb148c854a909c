import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderBlock, renderInline, renderMarkdown, rewriteLinks } from './markdown.ts'

const render = (text: string) => renderMarkdown(text, (target) => target).html

test('raw HTML in Markdown is shown as text', () => {
  const hostile = '<script>alert(1)</script>\n\nA <img src=x onerror=alert(1)> <b onclick="x">word</b> <!-- note -->\n'
  const html = render(hostile)
  assert.doesNotMatch(html, /<(?:script|img|b)\b/)
  assert.match(html, /&lt;script&gt;/)
  assert.doesNotMatch(render('<!-- x --><script>a</script>'), /<script/)
  assert.doesNotMatch(renderInline('`a` <img src=x>'), /<img/)
})

test('links to other schemes become text', () => {
  for (const target of ['javascript:alert(1)', 'data:text/html,x', 'JaVaScRiPt:alert(1)', '//elsewhere.example'])
    assert.doesNotMatch(render(`[word](${target})`), /<a /, target)
  assert.match(
    render('[word](https://example.com/?a=1&b="2")'),
    /href="https:\/\/example\.com\/\?a=1&amp;b=(?:&quot;|%22)/,
  )
})

test('headings have the anchors of GitHub, and equal ones differ', () => {
  const ids = renderMarkdown('# What’s `new`, here\n\n## Ports\n\n## Ports\n', () => null).headings.map(({ id }) => id)
  assert.deepEqual(ids, ['whats-new-here', 'ports', 'ports-1'])
})

test('links of Markdown are rewritten outside code, and become text without an address', () => {
  const resolve = (target: string) => (target === 'a.md' ? '/docs/a.md' : null)
  const text = '[one](a.md) [`two`](a.md) `[three](a.md)` [four](b.ts)\n\n```sh\n[five](a.md)\n```\n'
  assert.equal(
    rewriteLinks(text, resolve),
    '[one](/docs/a.md) [`two`](/docs/a.md) `[three](a.md)` four\n\n```sh\n[five](a.md)\n```\n',
  )
})

test('a picture with a dark form is shown, and any other HTML is text', () => {
  const picture = (alt: string) =>
    `<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="docs/images/a-dark.png">\n` +
    `  <img src="docs/images/a.png" width="720" alt="${alt}">\n</picture>\n`
  assert.match(
    render(picture('A page')),
    /^<picture><source .*srcset="\/docs\/images\/a-dark\.png"><img src="\/docs\/images\/a\.png" width="720" alt="A page" loading="lazy"><\/picture>/,
  )
  for (const text of [
    picture('x" onload="alert(1)'),
    picture('x').replace('docs/images/a.png', 'https://example.com/a.png'),
    picture('x').replace('<picture>', '<picture onclick="alert(1)">'),
    `${picture('x')}<script>alert(1)</script>`,
  ])
    assert.doesNotMatch(render(text), /<(?:picture|img|source|script)/, text)
})

test('a description has the same anchors each time it is rendered', () => {
  const [first, again] = [renderBlock('## Start\n\nText'), renderBlock('## Start\n\nText')]
  assert.match(first, /<h2 id="start">/)
  assert.equal(again, first)
})
