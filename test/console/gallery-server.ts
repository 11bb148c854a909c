import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { build, type OutputFile } from 'esbuild'

// The gallery of the parts, bundled as the console is and served under its policy.

const root = join(import.meta.dirname, '../..')

/** The policy of the console without the one Trusted Types policy that its service worker needs. */
const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'",
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "require-trusted-types-for 'script'; trusted-types 'none'",
].join('; ')

const page = (direction: string) => `<!doctype html>
<html lang="en" dir="${direction}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<title>Parts</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/assets/layers.css">
<link rel="stylesheet" href="/assets/gallery.css">
<script type="module" src="/assets/gallery.js"></script>
<main id="app"></main>
</html>`

const types = new Map([
  ['js', 'text/javascript'],
  ['css', 'text/css'],
  ['svg', 'image/svg+xml'],
])

const bundle = async (): Promise<readonly OutputFile[]> => {
  const { outputFiles } = await build({
    entryPoints: ['test/console/gallery.tsx', 'test/console/gallery.css', 'console/styles/layers.css'].map((path) =>
      join(root, path),
    ),
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]',
    outdir: '/assets',
    publicPath: '/assets',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    minify: true,
    write: false,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'file' },
    logLevel: 'warning',
  })
  return outputFiles
}

export type Gallery = {
  readonly url: string
  /** Bundled files by name, such as `layers.css`. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly close: () => void
}

export const serveGallery = async (): Promise<Gallery> => {
  const files = new Map((await bundle()).map(({ path, contents }) => [path.replace(/^.*[\\/]/, ''), contents]))
  const icon = readFileSync(join(root, 'console/icons/sprite.svg'))
  const server = createServer(({ url = '/' }, reply) => {
    const { pathname, searchParams } = new URL(url, 'http://gallery')
    const name = pathname.replace(/^.*\//, '')
    const content = name === 'icon.svg' ? icon : files.get(name)
    reply.setHeader('content-security-policy', policy)
    reply.setHeader('content-type', types.get(name.replace(/^.*\./, '')) ?? 'text/html; charset=utf-8')
    reply.end(content ?? page(searchParams.get('dir') === 'rtl' ? 'rtl' : 'ltr'))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, files, close: () => server.close() }
}
